import { widths } from './accessibility.ts';
import { testEachPage } from './each-page.ts';

testEachPage(Object.values(widths).flatMap((width) => [[width, 'light'] as const, [width, 'dark'] as const]));
