import { t } from '../../i18n';
import { ButtonLink } from '../../kit/links';
import type { WelcomeSearch } from './routes';

// BackToWelcome leads a person who came from the first steps back to them.
export function BackToWelcome({ welcome }: WelcomeSearch) {
  if (!welcome) return null;
  return (
    <ButtonLink to="/welcome" variant="default">
      {t('connectors.backToWelcome')}
    </ButtonLink>
  );
}
