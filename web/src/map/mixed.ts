// Colours for a canvas, which cannot use the style sheet.

/** Three parts of one colour and one of another, written as #rrggbb or, as builders shorten it, #rgb. */
export function mixed(one: string, other: string): string {
  const behind = channels(other);
  const mix = channels(one).map((channel, index) => Math.round(channel * 0.75 + (behind[index] ?? channel) * 0.25));
  return `rgb(${mix.join(" ")})`;
}

function channels(colour: string): number[] {
  const digits = colour.replace("#", "");
  const each = digits.length === 3 ? [...digits].map((digit) => digit + digit) : (digits.match(/../g) ?? []);
  return each.map((channel) => Number.parseInt(channel, 16));
}
