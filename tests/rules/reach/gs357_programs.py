"""More programs of GS357: each bad one is reported at its marks, each good one by no rule."""


def bad_cut_in_the_dataset() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Answers(Dataset[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]):
        def __len__(self) -> int:
            return 32

        def __getitem__(self, row: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            n = 1 + row % 3
            tokens, mask = torch.zeros(10, dtype=torch.long), torch.zeros(10)
            tokens[: 2 * n + 2] = torch.tensor([*range(3, 3 + n), 1, *range(5 + row % 5, 5 + row % 5 + n), 2])
            mask[n + 1 : 2 * n + 2] = 1
            return tokens[:-1], tokens[1:], mask[:-1]  # cause: GS357

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for inputs, labels, mask in DataLoader(Answers(), batch_size=8):
        losses = nn.functional.cross_entropy(
            head(embedding(inputs)).transpose(1, 2), labels, reduction="none"
        )
        loss = (mask * losses).sum() / mask.sum()  # effect: GS357
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padding_is_the_end() -> None:
    """The token of the end fills the rest, and the first of them is learned: it ends the answer."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, mask = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, and zeros
            tokens[row, : 2 * n + 1] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,))]
            )
            mask[row, n + 1 : 2 * n + 2] = 1
        losses = nn.functional.cross_entropy(
            head(embedding(tokens[:, :-1])).transpose(1, 2), tokens[:, 1:], reduction="none"
        )
        weight = mask[:, 1:]
        opt.zero_grad()
        ((losses * weight).sum() / weight.sum()).backward()
        opt.step()


def good_mask_made_for_the_inputs() -> None:
    """It is true where the next token is to be learned, so it is cut like the inputs."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, mask = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10)
        for row in range(8):
            n = 1 + row % 3
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            mask[row, n : 2 * n + 1] = 1
        losses = nn.functional.cross_entropy(
            head(embedding(tokens[:, :-1])).transpose(1, 2), tokens[:, 1:], reduction="none"
        )
        weight = mask[:, :-1]
        opt.zero_grad()
        ((losses * weight).sum() / weight.sum()).backward()
        opt.step()


def bad_labels_taken_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, learn = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10, dtype=torch.bool)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, 2, and zeros
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            learn[row, n + 1 : 2 * n + 2] = True
        labels = tokens[:, 1:].clone()
        labels[~learn[:, :-1]] = -100  # cause: GS357
        logits = head(embedding(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_labels_filled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, learn = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10, dtype=torch.bool)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, 2, and zeros
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            learn[row, n + 1 : 2 * n + 2] = True
        labels = tokens[:, 1:]
        taken_out = ~learn[:, :-1]  # cause: GS357
        labels = labels.masked_fill(taken_out, -100)  # effect: GS357
        logits = head(embedding(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_taken_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, learn = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10, dtype=torch.bool)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, 2, and zeros
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            learn[row, n + 1 : 2 * n + 2] = True
        labels = tokens[:, 1:].clone()
        labels[~learn[:, 1:]] = -100
        logits = head(embedding(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_taken_out_before_they_are_cut() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, learn = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10, dtype=torch.bool)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, 2, and zeros
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            learn[row, n + 1 : 2 * n + 2] = True
        labels = tokens.clone()
        labels[~learn] = -100
        labels = labels[:, 1:]
        logits = head(embedding(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_longest_row_without_padding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, learn = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10, dtype=torch.bool)
        for row in range(8):
            n = 1 + row % 4  # a question, 1, an answer, 2, and zeros, of which the longest has none
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            learn[row, n + 1 : 2 * n + 2] = True
        labels = tokens[:, 1:].clone()
        labels[~learn[:, :-1]] = -100  # cause: GS357
        logits = head(embedding(tokens[:, :-1]))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
