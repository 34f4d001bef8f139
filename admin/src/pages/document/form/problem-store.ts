/** A message at a path; `local` ones are of the browser, and stop a save. */
type Problem = { message: string; isLocal: boolean };

/** The problems of a form, by path. */
export function openProblems() {
  let problems = new Map<string, Problem>();

  /** Leaves out the problems at some paths. The map stays the same one where that leaves out none. */
  function drop(isOver: (path: string) => boolean): void {
    const rest = [...problems].filter(([path]) => !isOver(path));
    if (rest.length < problems.size) problems = new Map(rest);
  }

  return {
    all: () => problems,
    at: (path: string) => problems.get(path)?.message,
    /** The first at or below a path. */
    in: (path: string) => [...problems].find(([one]) => isIn(one, path))?.[1].message,
    hasLocal: () => [...problems.values()].some(({ isLocal }) => isLocal),
    hasIn: (path: string) => problems.keys().some((one) => isIn(one, path)),
    clear(): void {
      problems = new Map();
    },
    clearIn: (path: string) => drop((one) => isIn(one, path)),
    /** The text at a path is another now: that a list is too short may be over when an item is typed in. */
    clearAround: (path: string) => drop((one) => isIn(path, one)),
    /** Takes what the service found wrong; what the browser found stays. */
    refuse(errors: readonly { field: string; message: string }[]): void {
      problems = new Map([...problems].filter(([, { isLocal }]) => isLocal));
      for (const { field, message } of errors) problems.set(field, { message, isLocal: false });
    },
    /** Takes or, with undefined, takes back what the browser found wrong; false where nothing changes. */
    setLocal(path: string, message: string | undefined): boolean {
      if (message === undefined && !problems.get(path)?.isLocal) return false;
      problems = new Map(problems);
      if (message === undefined) problems.delete(path);
      else problems.set(path, { message, isLocal: true });
      return true;
    },
  };
}

function isIn(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`);
}
