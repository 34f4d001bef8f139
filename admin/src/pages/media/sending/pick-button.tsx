import { Button, type ButtonProps } from '@mantine/core';
import { type Ref, useRef } from 'react';
import { Icon } from '../../../theme/icons.tsx';

type Props = Omit<ButtonProps, 'onClick'> & {
  id?: string;
  accept: string | undefined;
  isMany?: boolean;
  label: string;
  describedBy?: string | undefined;
  isInvalid?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
  onFiles: (files: File[]) => void;
};

/** A button that opens the system's file dialog. */
export function PickButton({
  accept,
  isMany = false,
  label,
  describedBy,
  isInvalid,
  buttonRef,
  onFiles,
  ...rest
}: Props) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="upload" size={16} />}
        {...rest}
        ref={buttonRef}
        aria-describedby={describedBy}
        data-invalid={isInvalid || undefined}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        accept={accept}
        multiple={isMany}
        aria-label={label}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          // So that the same file can be chosen again.
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}
