package harbour.ferry;

import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;

/**
 * A ferry with its timetable. Times are those of the place; a ferry that
 * does not run has an empty timetable.
 */
@Deprecated
public final class Ferry extends Ship implements Comparable<Ferry> {
    private static final int SEATS = 240; // on both decks
    private final String name;
    private final List<LocalTime> departures = new ArrayList<>();

    public Ferry(String name) {
        this.name = name;
    }

    /** Adds a departure, unless there is one at that time already. */
    public boolean add(LocalTime time) {
        if (departures.contains(time)) {
            return false;
        }
        departures.add(time);
        departures.sort(null);
        return true;
    }

    @Override
    public int compareTo(Ferry other) {
        return name.compareTo(other.name);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("{" + name + ": ");
        for (LocalTime time : departures) {
            text.append(time).append(' ');
        }
        return text.append("seats ").append(SEATS).append('}').toString();
    }

    /** Where a ferry may stop. */
    public enum Stop {
        PIER, ISLAND, LIGHTHOUSE
    }
}
