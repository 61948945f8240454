import java.util.Locale;
import java.util.Map;

/** What a case measured, with further numbers by name; {@code check} is "ok" or what was wrong. */
record Outcome(
        double seconds, long operations, double value, String unit, Map<String, Double> extra,
        String check) {
    static Outcome rate(double seconds, long operations, String check) {
        return new Outcome(seconds, operations, operations / seconds, "1/s", Map.of(), check);
    }

    /** With one further number, and no other. */
    Outcome with(String name, double number) {
        return new Outcome(seconds, operations, value, unit, Map.of(name, number), check);
    }

    String toJson(Options options) {
        StringBuilder rest = new StringBuilder();
        extra.forEach((name, number) ->
            rest.append(String.format(Locale.ROOT, ",\"%s\":%.3f", name, number)));
        return String.format(Locale.ROOT,
            "{\"case\":\"%s\",\"threads\":%d,\"seconds\":%.6f,\"operations\":%d,\"value\":%.3f,"
                + "\"unit\":\"%s\"%s,\"check\":\"%s\"}",
            options.caseName(), options.threads(), seconds, operations, value, unit, rest, check);
    }
}
