// What scrolls within a page must be reached by keys:  const stop = useScrollStop(place);  <div ref={place} {...stop}>

import { useLayoutEffect, useState } from "preact/hooks";

/** `tabIndex` 0 while there is more inside than is shown; nothing otherwise, as every stop of the Tab key costs. */
export function useScrollStop(place: { current: Element | null }): { tabIndex?: number } {
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const look = () =>
      setScrolls(element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1);
    look();
    const watch = new ResizeObserver(look);
    for (const one of [element, ...element.children]) watch.observe(one);
    return () => watch.disconnect();
  }, []);
  return scrolls ? { tabIndex: 0 } : {};
}
