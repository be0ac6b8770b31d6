# {{ series.project }} {{ series.version }}
final: prev: {
  {{ series.project }} = prev.{{ series.project }}.overridePythonAttrs (old:
{% if series.release.commit %}
    assert (old.src.rev or "{{ series.release.commit }}") == "{{ series.release.commit }}";
{% else %}
    assert (old.version or "{{ series.upstream_version }}") == "{{ series.upstream_version }}";
{% endif %}
    {
      patches = (old.patches or [ ]) ++ [
{% for patch in patches %}
        # {{ patch.info.title | line }}
        ./{{ patch.file }}
{% endfor %}
      ];
    });
}
