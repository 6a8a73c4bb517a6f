//! Numbers as the locales of FORMAT() write them; observed on MariaDB 11.8.

/// Thousands separator, decimal point, and whether groups after the first have two digits.
pub(crate) type Separators = (&'static str, char, bool);

/// The separators of a locale by its name; English ones for names that are not here.
pub(crate) fn separators(name: &str) -> Separators {
    match name.to_lowercase().as_str() {
        "ar_sa" | "sr_rs" => ("", '.', false),
        "be_by" | "da_dk" | "de_be" | "de_de" | "de_lu" | "es_ar" | "es_bo" | "es_cl" | "es_co" | "es_ec"
        | "es_es" | "es_py" | "es_uy" | "es_ve" | "fo_fo" | "hu_hu" | "id_id" | "is_is" | "lt_lt"
        | "mn_mn" | "nb_no" | "no_no" | "ro_ro" | "ru_ua" | "sq_al" | "tr_tr" | "uk_ua" | "vi_vn" => {
            (".", ',', false)
        }
        "bg_bg" => ("", ',', false),
        "ca_es" | "de_at" | "el_gr" | "eu_es" | "fr_be" | "fr_ca" | "fr_ch" | "fr_fr" | "fr_lu" | "gl_es"
        | "hr_hr" | "it_it" | "nl_be" | "nl_nl" | "pl_pl" | "pt_br" | "pt_pt" | "sl_si" => ("", ',', false),
        "cs_cz" | "es_cr" | "et_ee" | "fi_fi" | "ka_ge" | "lv_lv" | "mk_mk" | "ru_ru" | "sk_sk" | "sv_fi"
        | "sv_se" => (" ", ',', false),
        "de_ch" => ("'", '.', false),
        "en_in" | "ta_in" | "te_in" => (",", '.', true),
        "it_ch" | "rm_ch" => ("'", ',', false),
        _ => (",", '.', false),
    }
}
