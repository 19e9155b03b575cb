// Finds the numbers of provider rules in a sentence: "… (A65)", "rule A9", "rule E".

export interface Piece {
  text: string;
  rule: boolean;
}

const NUMBER = /(?<=\brule )([A-F]\d{0,3})\b|(?<=\()([A-F]\d{1,3})(?=[ ,;:)])/g;

/** Splits a sentence at the numbers of rules. */
export function inRules(sentence: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: text, index } of sentence.matchAll(NUMBER)) {
    if (index > end) pieces.push({ text: sentence.slice(end, index), rule: false });
    pieces.push({ text, rule: true });
    end = index + text.length;
  }
  if (end < sentence.length) pieces.push({ text: sentence.slice(end), rule: false });
  return pieces;
}
