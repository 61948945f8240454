/** The command line; see the README of the peers. */
record Options(
        String caseName, int threads, int tasks, boolean quick, long seed, int children,
        double seconds, double warmUp) {
    static Options parse(String[] arguments) {
        if (arguments.length % 2 == 0) {
            throw new IllegalArgumentException(
                "usage: Peer CASE --threads N --tasks T [--nodes-scale full|quick] --seed S");
        }
        int threads = 1;
        int tasks = 50;
        boolean quick = false;
        long seed = 1;
        int children = 100_000;
        double seconds = 2;
        double warmUp = 4;
        for (int i = 1; i < arguments.length; i += 2) {
            String value = arguments[i + 1];
            switch (arguments[i]) {
                case "--threads" -> threads = Integer.parseInt(value);
                case "--tasks" -> tasks = Integer.parseInt(value);
                case "--nodes-scale" -> quick = value.equals("quick");
                case "--seed" -> seed = Long.parseLong(value);
                case "--children" -> children = Integer.parseInt(value);
                case "--seconds" -> seconds = Double.parseDouble(value);
                case "--warm-up" -> warmUp = Double.parseDouble(value);
                default -> throw new IllegalArgumentException("unknown option " + arguments[i]);
            }
        }
        return new Options(arguments[0], threads, tasks, quick, seed, children, seconds, warmUp);
    }

    Options withTasks(int other) {
        return new Options(caseName, threads, other, quick, seed, children, seconds, warmUp);
    }

    Options withSeconds(double other) {
        return new Options(caseName, threads, tasks, quick, seed, children, other, warmUp);
    }
}
