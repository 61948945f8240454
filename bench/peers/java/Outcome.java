import java.util.Locale;

/** What a case measured; {@code check} is "ok" or what was wrong. */
record Outcome(
        double seconds, long operations, double value, String unit, Double walker, String check) {
    static Outcome rate(double seconds, long operations, String check) {
        return new Outcome(seconds, operations, operations / seconds, "1/s", null, check);
    }

    String toJson(Options options) {
        return String.format(Locale.ROOT,
            "{\"case\":\"%s\",\"threads\":%d,\"seconds\":%.6f,\"operations\":%d,\"value\":%.3f,"
                + "\"unit\":\"%s\"%s,\"check\":\"%s\"}",
            options.caseName(), options.threads(), seconds, operations, value, unit,
            walker == null ? "" : String.format(Locale.ROOT, ",\"walker\":%.3f", walker), check);
    }
}
