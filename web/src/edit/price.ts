// Costs and savings of an operation as short figures.

import type { PlanView, When } from "../api";
import { count, plural, short } from "../format/numbers";

export interface Figure {
  text: string;
  tone: "good" | "warn" | "plain";
  /** The same in a sentence. */
  tip: string;
}

/**
 * The price of a plan, the most important first. `when`: the condition of a deferred edit; `alone`: no warnings below
 * it name the lost thinking.
 */
export function figures(plan: PlanView, calibrated: boolean, when: When = "now", alone = false): Figure[] {
  const about = calibrated ? "" : "≈";
  const isFree = when === "cold";
  return [
    saved(plan.tokens_before - plan.tokens_after, plan.preview.thinking_tokens, about),
    isFree ? COLD : reread(plan.preview.tokens_reread, about),
    money(plan),
    isFree ? null : breakEven(plan),
    alone ? thinking(plan) : null,
  ].filter((figure) => figure !== null);
}

const COLD: Figure = {
  text: "no extra re-read",
  tone: "good",
  tip: "With a cold cache, the provider re-reads everything anyway.",
};

/** `thinking`: its tokens that are no longer sent; the rest is the operation's own effect. */
function saved(tokens: number, thinking: number, about: string): Figure {
  if (thinking > 0) {
    const own = tokens - thinking;
    return {
      text: `${own < 0 ? "+" : "−"}${about}${short(Math.abs(own))} per turn, and ${about}${short(thinking)} of thinking`,
      tone: own > 0 ? "good" : "plain",
      tip: `Every request from now on is about ${count(Math.abs(own))} tokens ${own < 0 ? "larger" : "smaller"} because of the edit, and ${count(thinking)} tokens smaller because later thinking is no longer sent.`,
    };
  }
  if (tokens === 0) return { text: "same size", tone: "plain", tip: "The request keeps its size." };
  if (tokens > 0) {
    return {
      text: `−${about}${short(tokens)} per turn`,
      tone: "good",
      tip: `Every request from now on is about ${count(tokens)} tokens smaller.`,
    };
  }
  return {
    text: `+${about}${short(-tokens)} per turn`,
    tone: "warn",
    tip: `Every request from now on is about ${count(-tokens)} tokens larger.`,
  };
}

function reread(tokens: number, about: string): Figure | null {
  if (tokens === 0) return null;
  return {
    text: `${about}${short(tokens)} re-read once`,
    tone: "plain",
    tip: `The provider’s cache covers everything before the first change. The next request re-reads the ${count(tokens)} tokens after it, and caches them.`,
  };
}

/** Dollars, where the price of the model is known. */
function money(plan: PlanView): Figure | null {
  const dollars = plan.cost.money;
  if (dollars == null) return null;
  const about = dollars.nearest ? "≈" : "";
  const difference = dollars.without - dollars.later;
  const once = dollars.first - dollars.without;
  // An edit without lasting effect can still cost something once.
  if (Math.abs(difference) < 0.000_001) {
    return once < 0.000_001
      ? null
      : {
          text: `${about}${dollar(once)} once`,
          tone: "plain",
          tip: `The next request costs ${dollar(once)} more, later ones the same as now.`,
        };
  }
  return {
    text: `${difference < 0 ? "+" : "−"}${about}${dollar(Math.abs(difference))} per turn`,
    tone: difference < 0 ? "warn" : "good",
    tip: `A request costs ${dollar(dollars.without)} now; the next one ${dollar(dollars.first)}, later ones ${dollar(dollars.later)}.`,
  };
}

function dollar(value: number): string {
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(value < 1 ? 3 : 2)}`;
}

function breakEven(plan: PlanView): Figure | null {
  const { cost, tokens_before, tokens_after } = plan;
  // Money says more than tokens where prices are known, because prices differ between models.
  const after = (cost.money ?? cost).pays_off_after;
  if (tokens_before === tokens_after && (after === null || after === 0)) return null;
  if (after === null) {
    return {
      text: "never pays off",
      tone: "warn",
      tip: "It costs more than it saves.",
    };
  }
  if (after <= 1) return { text: "pays off at once", tone: "good", tip: "The next request is already cheaper." };
  return {
    text: `pays off after ${plural(after, "turn")}`,
    tone: after > 20 ? "warn" : "plain",
    tip: `After ${plural(after, "request")} the savings exceed the cost of re-reading, if the cache stays warm.`,
  };
}

function thinking({ thinking_lost: lost }: PlanView): Figure | null {
  if (lost === 0) return null;
  return {
    text: `${plural(lost, "thinking block")} lost`,
    tone: "warn",
    tip: "Thinking is bound to the content before it, so thinking after the change is no longer sent.",
  };
}

/** Remarks, each once: the warnings of the whole plan, then its risks, the highest first. */
export function warnings(plan: PlanView): { level: string; text: string }[] {
  const order = ["high", "medium", "low"];
  const whole = (plan.warnings ?? []).map((text) => ({ level: "high", text }));
  const risks = plan.operations.flatMap(({ risks }) =>
    risks.map(({ level, what }) => ({ level: String(level), text: what })),
  );
  const nothing = plan.operations.flatMap(({ nothing }) => (nothing === null ? [] : [{ level: "low", text: nothing }]));
  const all = [...whole, ...risks, ...nothing].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  return all.filter(({ text }, index) => all.findIndex((other) => other.text === text) === index);
}
