import { Code, Typography } from '@mantine/core';
import type { ReactNode } from 'react';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { withCitations } from './citations';

interface Props {
  children: string;
  // Replaces [n] of an answer's citations.
  cite?: (n: number) => ReactNode;
}

// Markdown renders text of documents and answers. HTML in it stays text, links open outside, and pictures are shown as
// links, since the content security policy loads nothing from other hosts.
export function Markdown({ children, cite }: Props) {
  const text = cite ? withCitations(children) : children;
  return (
    <Typography className="wrap prose">
      <ReactMarkdown
        remarkPlugins={[remarkGfm]}
        components={{
          a: ({ href, children: label }) => {
            const cited = cite && /^#cite-(\d+)$/.exec(href ?? '');
            if (cited) return <>{cite(Number(cited[1]))}</>;
            if (!href) return <>{label}</>; // an address that is no web page, such as javascript:
            return (
              <a href={href} target="_blank" rel="noopener noreferrer nofollow">
                {label}
              </a>
            );
          },
          img: ({ src, alt }) =>
            src ? (
              <a href={String(src)} target="_blank" rel="noopener noreferrer nofollow">
                {alt || String(src)}
              </a>
            ) : (
              alt
            ),
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the lines scroll, also by keyboard
          pre: ({ children: lines }) => <pre tabIndex={0}>{lines}</pre>,
          code: ({ children: code, className }) => (className ? <code>{code}</code> : <Code>{code}</Code>),
          h1: ({ children: text }) => <h3>{text}</h3>,
          h2: ({ children: text }) => <h3>{text}</h3>,
          h3: ({ children: text }) => <h4>{text}</h4>,
          h4: ({ children: text }) => <h5>{text}</h5>,
        }}
      >
        {text}
      </ReactMarkdown>
    </Typography>
  );
}
