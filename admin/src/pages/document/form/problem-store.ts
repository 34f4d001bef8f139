/** A message at a path. A local problem was found by the browser, and stops a save. */
type Problem = { message: string; isLocal: boolean };

/** The problems of a form, by path. */
export function openProblems() {
  let problems = new Map<string, Problem>();

  /** Removes the problems at some paths. The map stays the same object if it has none of them. */
  function drop(isOver: (path: string) => boolean): void {
    const rest = [...problems].filter(([path]) => !isOver(path));
    if (rest.length < problems.size) problems = new Map(rest);
  }

  return {
    all: () => problems,
    at: (path: string) => problems.get(path)?.message,
    /** The first problem at or below a path. */
    in: (path: string) => [...problems].find(([one]) => isIn(one, path))?.[1].message,
    hasLocal: () => [...problems.values()].some(({ isLocal }) => isLocal),
    hasIn: (path: string) => problems.keys().some((one) => isIn(one, path)),
    clear(): void {
      problems = new Map();
    },
    clearIn: (path: string) => drop((one) => isIn(one, path)),
    /** Removes problems at and above a path whose value changed: a list that was too short may be long enough now. */
    clearAround: (path: string) => drop((one) => isIn(path, one)),
    /** Sets the problems that the service found; those of the browser stay. */
    refuse(errors: readonly { field: string; message: string }[]): void {
      problems = new Map([...problems].filter(([, { isLocal }]) => isLocal));
      for (const { field, message } of errors) problems.set(field, { message, isLocal: false });
    },
    /** Sets a problem that the browser found or, with undefined, removes it; false if nothing changes. */
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
