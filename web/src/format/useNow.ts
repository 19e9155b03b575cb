// The current time, for labels such as "3m ago".

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
