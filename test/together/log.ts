import { runTogether } from '../helpers/together.ts';

runTogether('log');
