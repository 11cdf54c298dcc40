import { notifications } from '@mantine/notifications';
import { t } from '../i18n';
import { problemLine } from './Problem';

// done tells that something has happened.
export function done(message: string) {
  notifications.show({ message, color: 'green', closeButtonProps: { 'aria-label': t('common.close') } });
}

// failed tells why something has not happened, with the id of the request.
export function failed(error: unknown) {
  notifications.show({
    title: t('common.problem'),
    message: problemLine(error),
    color: 'red',
    autoClose: 10_000,
    closeButtonProps: { 'aria-label': t('common.close') },
  });
}
