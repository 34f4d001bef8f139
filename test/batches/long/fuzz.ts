import '../../fuzz/fuzz.long.test.ts';
