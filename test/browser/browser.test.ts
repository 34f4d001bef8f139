// One process for all of them, and so one browser.
import './account-pages.ts';
import './client.ts';
import './docs.ts';
import './mail.ts';
import './media.ts';
