// The fields of results that are texts of the service. The cache gives them out in the person's language.
import type { Resolver, ResolverConfig } from '@urql/exchange-graphcache';
import { word } from '../i18n/words';

const texts = {
  AgentRun: ['error'],
  AgentTemplate: ['name', 'description'],
  AgentTool: ['title', 'description', 'unavailable'],
  AgentToolResult: ['message'],
  Approval: ['reason', 'slackError'],
  AttachedDatabase: ['lastError'],
  Automation: ['disabledReason'],
  AutomationDelivery: ['error'],
  AutomationRun: ['reason'],
  AutomationTemplate: ['title', 'description'],
  ConnectionTest: ['message'],
  ConnectionTier: ['message'],
  Connector: ['lastError'],
  ConnectorKind: ['title', 'description'],
  ConnectorOption: ['title', 'help', 'group'],
  ConnectorPermissions: ['warning'],
  Document: ['failure'],
  DocumentEvent: ['reason'],
  DocumentStatusChange: ['failure'],
  DocumentVisibility: ['explanation'],
  InboundEvent: ['reason'],
  InboundIntegration: ['lastError'],
  InboundIntegrationSecret: ['instructions'],
  InboundIntegrationTest: ['message'],
  InboundProvider: ['title', 'description', 'instructions'],
  InboundSubscription: ['error'],
  IntegrationTool: ['title', 'description'],
  ModelChange: ['reason'],
  OAuthGrant: ['lastError'],
  PlanItem: ['reason'],
  SearchQualityRun: ['note'],
  SearchWhyNot: ['explanation', 'change', 'itemReason'],
  SyncItem: ['reason'],
  SyncJob: ['warnings', 'error'],
  SyncProgressEvent: ['warnings', 'error'],
  SyncWait: ['text'],
  SystemModelFailure: ['reason'],
  SystemWarning: ['text', 'action'],
  ToolConnection: ['lastError'],
  ToolDescription: ['title', 'description'],
  ToolIntegration: ['lastError'],
  ToolIntegrationTest: ['message'],
  ToolProvider: ['title', 'summary'],
  WebhookSubscription: ['error'],
};

const translated =
  (field: string): Resolver =>
  (parent) => {
    const text = parent[field] as string | string[] | null;
    return Array.isArray(text) ? text.map(word) : text && word(text);
  };

// textResolvers are the resolvers of these fields.
export const textResolvers: ResolverConfig = Object.fromEntries(
  Object.entries(texts).map(([type, fields]) => [type, Object.fromEntries(fields.map((field) => [field, translated(field)]))]),
);
