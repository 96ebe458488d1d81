// What a task's result says of a value that it printed: what its metric leaves out, and the goal that it has.

export type Details = Readonly<Record<string, unknown>>;

export interface TaskMarks {
  /** Seconds; 0 where nothing is left out. */
  leftOutUntil: number;
  bound: number | null;
  words: string;
}

/** The marks of the value of that name; null for what monitors saw. */
export function taskMarks(name: string, details: Details): TaskMarks | null {
  const log = fields(fields(details["log"])?.[name]);
  const goal = goalOf(name, details);
  if (log === null && goal === null) return null;
  const until = log?.["left_out_until"];
  const leftOutUntil = typeof until === "number" && until > 0 ? until : 0;
  const words = [leftOutUntil > 0 ? "the hatched part is left out as warm-up" : "", goal?.words ?? ""];
  return { leftOutUntil, bound: goal?.bound ?? null, words: words.filter(Boolean).join("; ") };
}

function goalOf(name: string, details: Details): { bound: number; words: string } | null {
  for (const told of Object.values(fields(details["goals"]) ?? {})) {
    const goal = fields(told);
    const when = goal?.["when"];
    if (typeof when !== "string" || when.split(" ")[0] !== name) continue;
    const bound = Number(when.split(" ").pop());
    if (Number.isFinite(bound))
      return { bound, words: `${when} ${goal?.["reached"] === true ? "reached" : "not reached"}` };
  }
  return null;
}

function fields(value: unknown): Details | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Details) : null;
}
