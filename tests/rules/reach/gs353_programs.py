"""More programs of GS353: each bad one is reported at its marks, each good one by no rule."""


def bad_scores_of_each_label() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Labels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 8, padding_idx=0)
            self.query, self.out = nn.Linear(8, 3, bias=False), nn.Linear(8, 1)

        def forward(self, text: torch.Tensor) -> torch.Tensor:
            h = self.embed(text)  # effect: GS353
            scores = self.query(h).transpose(1, 2)
            alpha = scores.softmax(dim=-1)  # cause: GS353
            found: torch.Tensor = self.out(alpha @ h).squeeze(2)
            return found

    torch.manual_seed(0)
    labeller = Labels()
    opt = torch.optim.Adam(labeller.parameters(), lr=0.01)
    for _ in range(4):
        ends = torch.randint(2, 9, (16, 1))
        text = torch.randint(1, 20, (16, 8)) * (torch.arange(8) < ends)
        wanted = torch.stack([(text == k).any(1) for k in (1, 2, 3)], 1).float()
        opt.zero_grad()
        F.binary_cross_entropy_with_logits(labeller(text), wanted).backward()
        opt.step()


def good_weights_are_masked_and_scaled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, query, out = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 1), nn.Linear(8, 2)
    opt = torch.optim.Adam([*embed.parameters(), *query.parameters(), *out.parameters()], lr=0.01)
    for _ in range(4):
        ends = torch.randint(2, 9, (16, 1))
        text = torch.randint(1, 20, (16, 8)) * (torch.arange(8) < ends)
        h = embed(text)
        share = query(h).squeeze(2).softmax(1) * (text != 0)
        share = share / share.sum(1, keepdim=True)
        opt.zero_grad()
        nn.functional.cross_entropy(out((share.unsqueeze(2) * h).sum(1)), (text[:, 0] > 9).long()).backward()
        opt.step()


def good_looks_back_only() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, turn, out = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.Linear(8, 20)
    opt = torch.optim.Adam([*embed.parameters(), *turn.parameters(), *out.parameters()], lr=0.01)
    later = torch.ones(7, 7).triu(1).bool()
    for _ in range(4):
        ends = torch.randint(2, 9, (16, 1))
        text = torch.randint(1, 20, (16, 8)) * (torch.arange(8) < ends)
        h = embed(text[:, :-1])
        looks = (turn(h) @ h.transpose(1, 2)).masked_fill(later, float("-inf")).softmax(-1)
        opt.zero_grad()
        said = out(looks @ h).transpose(1, 2)
        nn.functional.cross_entropy(said, text[:, 1:], ignore_index=0).backward()
        opt.step()


def good_as_many_classes_as_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, judge = nn.EmbeddingBag(20, 8), nn.Embedding(20, 6)
    out = nn.Linear(14, 8)
    opt = torch.optim.Adam([*embed.parameters(), *judge.parameters(), *out.parameters()], lr=0.01)
    for _ in range(4):
        ends = torch.randint(2, 9, (16, 1))
        text = torch.randint(1, 20, (16, 8)) * (torch.arange(8) < ends)
        both = torch.cat([embed(text), judge(text)[:, 0]], 1)
        share = out(both).softmax(1)
        opt.zero_grad()
        nn.functional.nll_loss((share + 1e-6).log(), text[:, 0] % 8).backward()
        opt.step()
