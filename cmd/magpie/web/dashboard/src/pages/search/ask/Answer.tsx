import { Anchor, Button, Group, List, Stack, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { t } from '../../../i18n';
import { Icon } from '../../../kit/Icon';
import { Markdown } from '../../../kit/Markdown';
import type { Cited, Source } from './answers';

interface Props {
  text: string;
  sources: Source[];
  // Opens a passage of a source, by default the first that is cited.
  onCite: (source: Source, passage?: Cited) => void;
  children?: ReactNode;
}

// AnswerText is an answer with its citations, which open what they cite, and the list of its sources.
export function AnswerText({ text, sources, onCite, children }: Props) {
  const cite = (n: number) => {
    const source = sources[n - 1];
    if (!source) return `[${n}]`;
    return (
      <UnstyledButton
        onClick={() => onCite(source)}
        aria-label={t('search.ask.source', { n, title: source.title })}
        title={source.title}
        fz="xs"
        fw={600}
        mx={2}
        style={{
          display: 'inline-flex',
          minWidth: 24,
          height: 24,
          alignItems: 'center',
          justifyContent: 'center',
          borderRadius: 12,
          border: '1px solid var(--mantine-color-default-border)',
          verticalAlign: 'middle',
        }}
      >
        {n}
      </UnstyledButton>
    );
  };
  return (
    <Stack gap="sm">
      <Markdown cite={cite}>{text}</Markdown>
      {sources.length > 0 && (
        <div>
          <Text size="sm" fw={600}>
            {t('search.ask.sources')}
          </Text>
          <List type="ordered" size="sm" spacing={6}>
            {sources.map((source) => (
              <List.Item key={source.id} className="wrap">
                <Group gap="xs">
                  <Anchor component="button" type="button" size="sm" ta="left" mih={24} onClick={() => onCite(source)}>
                    {source.title}
                  </Anchor>
                  <Anchor component={Link} to={`/documents/${source.id}`} size="xs" c="dimmed" underline="always" py={4}>
                    {t('search.openDocument')}
                  </Anchor>
                </Group>
                {source.passages.map((passage) => (
                  <UnstyledButton key={passage.id} onClick={() => onCite(source, passage)} display="block" py={4}>
                    <Text size="xs" c="dimmed" lineClamp={2} className="wrap">
                      {passage.headingPath.length > 0 && <b>{passage.headingPath.join(' › ')}: </b>}
                      {passage.excerpt}
                    </Text>
                  </UnstyledButton>
                ))}
              </List.Item>
            ))}
          </List>
        </div>
      )}
      {children}
    </Stack>
  );
}

// FollowUp are questions that continue the conversation.
export function FollowUp({ questions, onAsk }: { questions: string[]; onAsk: (question: string) => void }) {
  if (questions.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label={t('search.ask.followUp')}>
      {questions.map((question) => (
        <Button
          key={question}
          variant="default"
          size="xs"
          radius="xl"
          rightSection={<Icon name="chevron" size={14} />}
          onClick={() => onAsk(question)}
          styles={{
            root: { height: 'auto', minHeight: 30, paddingBlock: 4 },
            label: { whiteSpace: 'normal', textAlign: 'left', height: 'auto', overflow: 'visible' },
          }}
        >
          {question}
        </Button>
      ))}
    </Group>
  );
}

// Announced reads a growing text to screen readers: every two seconds what has come since.
export function Announced({ text }: { text: string }) {
  const [chunk, setChunk] = useState('');
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    let said = 0;
    const timer = window.setInterval(() => {
      if (latest.current.length > said) setChunk(latest.current.slice(said).replaceAll(/[*_`#]/g, ''));
      said = latest.current.length;
    }, 2000);
    return () => window.clearInterval(timer);
  }, []);
  return <VisuallyHidden aria-live="polite">{chunk}</VisuallyHidden>;
}
