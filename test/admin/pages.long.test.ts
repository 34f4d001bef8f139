import { widths } from './accessibility.ts';
import { testEachPage } from './each-page.ts';

// All widths and schemes: npm run test:pages.
testEachPage([
  [widths.phone, 'dark'],
  [widths.laptop, 'light'],
]);
