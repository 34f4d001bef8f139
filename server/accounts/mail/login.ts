import { connect } from './transport.ts';

/**
 * Connects to a mail server and logs in, but sends no mail. False for a transport that cannot be tried.
 *
 * @param transport an SMTP URL, or the options of nodemailer.
 * @throws the error of the connection or of the login.
 */
export async function verifyTransport(transport: string | object): Promise<boolean> {
  const transporter = await connect(transport, 'the mail transport');
  try {
    if (!('verify' in transporter.transporter)) return false;
    await transporter.verify();
    return true;
  } finally {
    transporter.close();
  }
}
