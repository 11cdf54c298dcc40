import { Anchor, Breadcrumbs, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';

interface Props {
  title: string;
  // One sentence about what the page is for.
  description?: ReactNode;
  // Buttons at the right of the title.
  actions?: ReactNode;
  // The pages above this one.
  above?: { label: string; to: string }[];
  narrow?: boolean;
  children: ReactNode;
}

// The first page of a visit leaves the focus where the browser begins, so that the first Tab offers to skip the menu.
let takesFocus = false;
export const takeFocus = () => {
  takesFocus = true;
};

// Page is the frame of every page: it names the browser's tab and takes the focus when
// the person comes to it, so that a screen reader reads its title.
export function Page({ title, description, actions, above, narrow, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Magpie`;
  }, [title]);
  useEffect(() => {
    if (!takesFocus) return;
    if (document.activeElement === document.body || document.activeElement?.closest('nav, header'))
      heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <Stack className={narrow ? 'page narrow' : 'page'} gap="md">
      {above && (
        <Breadcrumbs separator="/">
          {above.map(({ label, to }) => (
            <Anchor key={to} component={Link} to={to} size="sm">
              {label}
            </Anchor>
          ))}
          <Text size="sm" c="dimmed" className="wrap">
            {title}
          </Text>
        </Breadcrumbs>
      )}
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2} style={{ minWidth: 0, flex: '1 1 16rem' }}>
          <Title order={1} size="h2" ref={heading} tabIndex={-1} className="wrap">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" size="sm" className="wrap">
              {description}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
