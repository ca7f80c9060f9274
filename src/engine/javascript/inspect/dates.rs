//! Dates as text.

/// A date as `toISOString` writes it.
pub(super) fn iso_date(time: f64) -> String {
    if !time.is_finite() {
        return "Invalid Date".to_owned();
    }
    let milliseconds = time as i64;
    let (days, of_day) = (
        milliseconds.div_euclid(86_400_000),
        milliseconds.rem_euclid(86_400_000),
    );
    let (year, month, day) = civil(days);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{}{:06}", if year < 0 { '-' } else { '+' }, year.abs()),
    };
    let (seconds, millis) = (of_day / 1_000, of_day % 1_000);
    format!(
        "{year}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar; eras of 400 years repeat exactly.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // The year begins in March here, so that the leap day is its last.
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
