import { notifications } from '@mantine/notifications';
import { problemOf } from '../api/errors';
import { t } from '../i18n';
import { problemText } from './Problem';

// done tells that something has happened.
export function done(message: string) {
  notifications.show({ message, color: 'green', closeButtonProps: { 'aria-label': t('common.close') } });
}

// failed tells why something has not happened, with the id of the request.
export function failed(error: unknown) {
  const { requestId } = problemOf(error);
  notifications.show({
    title: t('common.problem'),
    message: requestId ? `${problemText(error)} (${t('common.requestId', { id: requestId })})` : problemText(error),
    color: 'red',
    autoClose: 10_000,
    closeButtonProps: { 'aria-label': t('common.close') },
  });
}
