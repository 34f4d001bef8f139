const target = /^(tcp|udp|sctp):\/\//;
const name =
  /^ANNALS_(?:[A-Z\d_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z\d_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
const port = /^ANNALS_(?:[A-Z\d_]+_)?PORT$/;

/**
 * Whether an environment variable describes a Kubernetes service ("service links"). Every pod beside a service called
 * `annals` or `annals-…` gets them: `ANNALS_SERVICE_HOST`, `ANNALS_SERVICE_PORT_HTTP`,
 * `ANNALS_PORT=tcp://10.0.0.1:4000`, `ANNALS_PORT_4000_TCP_ADDR`. They are not our settings.
 */
export function isServiceLink(variable: string, value: string): boolean {
  return name.test(variable) || (port.test(variable) && target.test(value));
}
