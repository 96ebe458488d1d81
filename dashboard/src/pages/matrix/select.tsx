// One of several, always chosen: <Select label="Rows" value={rows} options={names} called={(n) => ...} onChange={...} />

interface SelectProps {
  label: string;
  value: string;
  options: readonly string[];
  called?: (option: string) => string;
  onChange: (value: string) => void;
}

export function Select({ label, value, options, called = String, onChange }: SelectProps) {
  return (
    <label class="field">
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {!options.includes(value) && <option value={value}>{called(value)}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {called(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
