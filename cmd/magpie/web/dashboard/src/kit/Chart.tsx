import { Box, Group, Text, VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, useId, useState } from 'react';
import { formatNumber } from '../i18n';

export interface Series {
  key: string;
  name: string;
  // One value for each label.
  values: number[];
}

interface Props {
  // What the chart shows, for its table and for screen readers.
  label: string;
  // How it is used, for screen readers: that the arrow keys show values.
  help: string;
  // The points from left to right, such as days.
  labels: string[];
  // At most three, told apart by colour and by their strokes.
  series: Series[];
  kind?: 'line' | 'bars';
  format?: (value: number) => string;
  height?: number;
}

const width = 640;
const left = 44;
const bottom = 22;
const top = 8;
const strokes = [undefined, '6 3', '2 3'];
const colors = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)'];

// scale returns the greatest value of the axis, and its lines: whole numbers in steps of 1, 2 or 5.
export function scale(most: number): number[] {
  if (most <= 0) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough);
  const lines = [];
  for (let at = 0; at < most + step; at += step) lines.push(at);
  return lines;
}

// Chart draws lines or bars over a common axis. The arrow keys and the pointer show the values of a point; screen readers
// get a table.
export function Chart({ label, help, labels, series, kind = 'line', format = (value) => formatNumber(value), height = 220 }: Props) {
  const [at, setAt] = useState<number | null>(null);
  const id = useId();
  const ticks = scale(Math.max(0, ...series.flatMap(({ values }) => values)));
  const most = ticks.at(-1) ?? 1;
  const slot = (width - left - 8) / Math.max(1, labels.length);
  const x = (n: number) => left + slot * (n + 0.5);
  const y = (value: number) => top + (height - top - bottom) * (1 - value / most);
  const onKey = (event: KeyboardEvent) => {
    const last = labels.length - 1;
    const moves: Record<string, number> = {
      ArrowLeft: Math.max(0, (at ?? last + 1) - 1),
      ArrowRight: Math.min(last, (at ?? -1) + 1),
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
  };
  const every = Math.ceil(labels.length / 6);
  return (
    <Box className="chart">
      <Group gap="md" mb={4} justify="space-between">
        <Group gap="md" aria-hidden="true">
          {series.map(({ key, name }, n) => (
            <Group key={key} gap={6}>
              <svg width={22} height={10} aria-hidden="true">
                {kind === 'line' ? (
                  <line x1={0} x2={22} y1={5} y2={5} stroke={colors[n]} strokeWidth={2.5} strokeDasharray={strokes[n]} />
                ) : (
                  <rect width={22} height={10} rx={2} fill={colors[n]} />
                )}
              </svg>
              <Text size="xs">{name}</Text>
            </Group>
          ))}
        </Group>
        <Text size="xs" role="status" id={`${id}-at`} mih="1.2em">
          {at === null ? '' : `${labels[at]}: ${series.map(({ name, values }) => `${name} ${format(values[at] ?? 0)}`).join(', ')}`}
        </Text>
      </Group>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        width="100%"
        role="img"
        aria-label={`${label}. ${help}`}
        aria-describedby={`${id}-at`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys show the values of a point
        tabIndex={0}
        onKeyDown={onKey}
        onBlur={() => setAt(null)}
        onMouseLeave={() => setAt(null)}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const n = Math.floor((((event.clientX - box.left) / box.width) * width - left) / slot);
          setAt(n >= 0 && n < labels.length ? n : null);
        }}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={left} x2={width - 8} y1={y(tick)} y2={y(tick)} stroke="var(--mantine-color-default-border)" />
            <text x={left - 6} y={y(tick) + 4} textAnchor="end" fontSize={11} fill="var(--mantine-color-dimmed)">
              {format(tick)}
            </text>
          </g>
        ))}
        {labels.map((text, n) =>
          n % every === 0 ? (
            <text key={text} x={x(n)} y={height - 6} textAnchor="middle" fontSize={11} fill="var(--mantine-color-dimmed)">
              {text}
            </text>
          ) : null,
        )}
        {at !== null && (
          <line x1={x(at)} x2={x(at)} y1={top} y2={height - bottom} stroke="var(--mantine-color-dimmed)" strokeDasharray="2 2" />
        )}
        {series.map(({ key, values }, n) =>
          kind === 'line' ? (
            <g key={key}>
              <polyline
                points={values.map((value, i) => `${x(i)},${y(value)}`).join(' ')}
                fill="none"
                stroke={colors[n]}
                strokeWidth={2.5}
                strokeDasharray={strokes[n]}
                strokeLinejoin="round"
              />
              {(labels.length === 1 || at !== null) && <circle cx={x(at ?? 0)} cy={y(values[at ?? 0] ?? 0)} r={4} fill={colors[n]} />}
            </g>
          ) : (
            values.map((value, i) => {
              const bar = (slot * 0.8) / series.length;
              return (
                <rect
                  key={`${key}-${i}`}
                  x={x(i) - slot * 0.4 + bar * n}
                  y={y(value)}
                  width={Math.max(1, bar - 1)}
                  height={Math.max(0, height - bottom - y(value))}
                  fill={colors[n]}
                />
              );
            })
          ),
        )}
      </svg>
      <VisuallyHidden>
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <td />
              {series.map(({ key, name }) => (
                <th key={key} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((text, i) => (
              <tr key={text}>
                <th scope="row">{text}</th>
                {series.map(({ key, values }) => (
                  <td key={key}>{format(values[i] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </Box>
  );
}
