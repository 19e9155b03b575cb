// The current time, for "3m ago" labels that must not stand still.

import { useEffect, useState } from "react";

const TICK = 10_000;

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const ticking = setInterval(() => setNow(Date.now()), TICK);
    return () => clearInterval(ticking);
  }, []);
  return now;
}
