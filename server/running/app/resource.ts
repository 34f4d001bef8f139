import type { Server } from '@hapi/hapi';
import type { App, RouteParts } from '../../app.ts';

/** The service as its routes have it. */
export type RoutedApp = App & RouteParts;

/** Adds the routes about one subject to a server. */
export type Resource = (server: Server, app: RoutedApp) => void;
