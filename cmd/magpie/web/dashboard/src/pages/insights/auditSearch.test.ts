import { describe, expect, it, vi } from 'vitest';
import { auditSearch, filterOf, pageOf } from './auditSearch';

vi.stubGlobal('localStorage', { getItem: () => 'Pacific/Auckland' });

describe('the audit log in the address', () => {
  it('leaves out what is no day', () => {
    expect(auditSearch({ from: '2026-13-40', to: 'x', actor: '', text: 12 })).toEqual({ text: '12' });
  });
  it('includes its last day, in the zone of the person', () => {
    const filter = filterOf({ from: '2026-11-01', to: '2026-11-30' });
    expect(filter).toMatchObject({ from: '2026-10-31T11:00:00.000Z', to: '2026-11-30T11:00:00.000Z' });
  });
  it('has no link to what was deleted', () => {
    expect(pageOf('connector', '1', 'connector.update')).toBe('/connectors/1');
    expect(pageOf('connector', '1', 'connector.delete')).toBeNull();
    expect(pageOf('session', '1', 'session.sign_in')).toBeNull();
    expect(pageOf('agent', null, 'agent.update')).toBeNull();
  });
});
