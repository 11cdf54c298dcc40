import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, Ref } from 'react';

type Attributes = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof ButtonProps | keyof AnchorProps> & { ref?: Ref<HTMLAnchorElement> };

// TextLink and ButtonLink lead to pages with parameters and state in the address, whose types are checked.
export const TextLink = createLink((props: Attributes & AnchorProps) => <Anchor {...props} />);
export const ButtonLink = createLink((props: Attributes & ButtonProps) => <Button component="a" {...props} />);
