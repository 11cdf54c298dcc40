import { ScrollArea, Table, Text } from '@mantine/core';

interface Props {
  label: string;
  columns: string[];
  types?: string[];
  rows: (string | number | boolean | null)[][];
}

// Rows shows rows of a database as they are, in a box that scrolls.
export function Rows({ label, columns, types, rows }: Props) {
  return (
    <ScrollArea.Autosize mah="28rem" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}>
      <Table aria-label={label} striped stickyHeader>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column, n) => (
              <Table.Th key={n}>
                {column}
                {types?.[n] && (
                  <Text size="xs" c="dimmed" fw={400}>
                    {types[n]}
                  </Text>
                )}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, n) => (
            <Table.Tr key={n}>
              {row.map((value, column) => (
                <Table.Td key={column} className="mono" maw="28rem" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
                  {value === null ? (
                    <Text span size="xs" c="dimmed">
                      NULL
                    </Text>
                  ) : (
                    String(value)
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
