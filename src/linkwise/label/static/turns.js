// Work that takes a while and must not overtake itself.

// Returns a function that does one piece of work after the other, in the order in which they were given.
export function inOrder() {
  let last = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => {}); // who has asked for it is told
    return done;
  };
}

// Returns a function that does the work once more at the end if it was asked for meanwhile.
export function oneAtATime(work) {
  let running = null;
  let isStale = false;
  const run = async () => {
    try {
      do {
        isStale = false;
        await work();
      } while (isStale);
    } finally {
      running = null;
    }
  };
  return () => {
    isStale = true;
    running ??= run();
    return running;
  };
}
