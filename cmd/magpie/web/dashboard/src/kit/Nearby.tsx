import { Stack } from '@mantine/core';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';

const near = '1500px 0px'; // how far above and below the window is still near

// Nearby is a part of a long page. Its children are in the page while they are near the window or have the focus; else
// their height is left free.
export function Nearby({ children }: { children: ReactNode }) {
  const holder = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState<number | null>(null); // null: they are in the page
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const observer = new IntersectionObserver(
      ([part]) => {
        if (part?.isIntersecting) setHeight(null);
        else if (part && !element.contains(document.activeElement)) setHeight(part.boundingClientRect.height);
      },
      { rootMargin: near },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <Stack gap={0} ref={holder} style={height === null ? undefined : { height }}>
      {height === null && children}
    </Stack>
  );
}

// useKeptPlace keeps what is read in its place while older items come in front of the first one. What it returns is called
// before they are read.
export function useKeptPlace(first: string | undefined): () => void {
  const toEnd = useRef<number | null>(null); // from the upper edge of the window, in pixels
  // biome-ignore lint/correctness/useExhaustiveDependencies: another first item has come
  useLayoutEffect(() => {
    if (toEnd.current === null) return;
    const page = document.documentElement;
    page.style.setProperty('overflow-anchor', 'none'); // or some browsers would do the same a second time
    window.scrollTo({ top: page.scrollHeight - toEnd.current, behavior: 'instant' });
    toEnd.current = null;
    requestAnimationFrame(() => page.style.removeProperty('overflow-anchor'));
  }, [first]);
  return () => {
    toEnd.current = document.documentElement.scrollHeight - window.scrollY;
  };
}
