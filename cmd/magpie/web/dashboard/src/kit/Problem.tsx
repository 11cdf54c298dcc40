import { Alert, Button, Group, Text } from '@mantine/core';
import { problemOf } from '../api/errors';
import { t } from '../i18n';
import { Icon } from './Icon';

// problemText returns the sentence that says what went wrong.
export function problemText(error: unknown): string {
  const problem = problemOf(error);
  return problem.message || t('common.offline');
}

// problemLine is problemText with the id of the request.
export function problemLine(error: unknown): string {
  const { requestId } = problemOf(error);
  return requestId ? `${problemText(error)} (${t('common.requestId', { id: requestId })})` : problemText(error);
}

// ProblemNotice shows an error with the id of its request, and a way to try again.
export function ProblemNotice({ error, title, retry }: { error: unknown; title?: string; retry?: () => void }) {
  const problem = problemOf(error);
  return (
    <Alert color="red" variant="light" icon={<Icon name="warning" />} title={title ?? t('common.problem')} role="alert">
      <Text size="sm" className="wrap">
        {problem.message || t('common.offline')}
      </Text>
      {problem.requestId && (
        <Text size="xs" mt={4} className="mono wrap">
          {t('common.requestId', { id: problem.requestId })}
        </Text>
      )}
      {retry && (
        <Group mt="xs">
          <Button size="xs" variant="default" onClick={retry}>
            {t('common.retry')}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
