// Assigns commits to lanes of the graph. Commits have one parent each, so the graph is a tree: lines meet only where a
// branch began.

export interface Node {
  id: string;
  parent: string | null;
}

export interface Placed {
  /** The lane of the commit's dot. */
  lane: number;
  /** Lanes whose line comes from above and ends in the dot: one for each branch that began here, and its own. */
  from: number[];
  /** Lanes whose line runs past without stopping. */
  past: number[];
  /** Whether a line continues below the dot. */
  goesOn: boolean;
}

/** Newest first in, one place each out. A parent that is not in the list leaves its line running to the end. */
export function lanes(nodes: Node[]): Placed[] {
  const waiting: (string | null)[] = [];
  return nodes.map(({ id, parent }) => {
    const from = waiting.flatMap((awaited, lane) => (awaited === id ? [lane] : []));
    const lane = from[0] ?? free(waiting);
    for (const ended of from) waiting[ended] = null;
    const past = waiting.flatMap((awaited, other) => (awaited !== null && other !== lane ? [other] : []));
    waiting[lane] = parent;
    return { lane, from, past, goesOn: parent !== null };
  });
}

function free(waiting: (string | null)[]): number {
  const lane = waiting.indexOf(null);
  return lane === -1 ? waiting.length : lane;
}

/** The number of lanes in the graph. */
export function width(placed: Placed[]): number {
  return Math.max(0, ...placed.flatMap(({ lane, from, past }) => [lane, ...from, ...past])) + 1;
}

/** The lanes that run between a commit and the next row below it. */
export function below({ lane, past, goesOn }: Placed): number[] {
  return goesOn ? [...past, lane] : past;
}
