/** SplitMix64: the same numbers in every peer. */
final class Rng {
    private long state;

    Rng(long seed) {
        state = seed;
    }

    int below(int limit) {
        state += 0x9e3779b97f4a7c15L;
        long a = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L;
        long b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL;
        return (int) ((((b ^ (b >>> 31)) >>> 32) * limit) >>> 32);
    }
}
