"""More programs of GS369: each bad one is reported at its marks, each good one by no rule."""


def bad_heads_of_a_module() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(16, 16, bias=False) for _ in range(3))
            self.scale = 8**0.5

        def split(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(len(x), -1, 2, 8).transpose(1, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
            weights = torch.matmul(q, k.transpose(-2, -1)) * self.scale  # cause: GS369
            weights = weights.softmax(dim=-1)  # effect: GS369
            return (weights @ v).transpose(1, 2).flatten(2)

    model = nn.Sequential(Attention(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 5, 16)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.mean(2, keepdim=True)).backward()
        opt.step()


def bad_einsum_and_a_method() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 96), nn.Linear(32, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = (t.unflatten(-1, (2, 16)) for t in project(torch.randn(4, 6, 8)).chunk(3, dim=-1))
        scores = torch.einsum("bihd, bjhd -> bhij", q, k).div(16**-0.5)  # cause: GS369
        weights = nn.functional.softmax(scores, dim=-1)  # effect: GS369
        mixed = torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed.mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def bad_scale_of_an_attention() -> None:
    import math

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        mixed = F.scaled_dot_product_attention(q, k, v, scale=math.sqrt(q.size(-1)))  # cause: GS369
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed.mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_queries_of_length_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        q, k = nn.functional.normalize(q, dim=-1), nn.functional.normalize(k, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) * 16**0.5, dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_temperature() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 0.07, dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def bad_queries_times_the_root() -> None:
    import math

    import torch
    from torch import nn

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.to_q, self.to_k, self.to_v = (nn.Linear(18, 18, bias=False) for _ in range(3))

        def split(self, t: torch.Tensor) -> torch.Tensor:
            return t.unflatten(-1, (2, 9)).transpose(1, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q = self.split(self.to_q(x)) * math.sqrt(9)  # cause: GS369
            scores = torch.einsum("bhid,bhjd->bhij", q, self.split(self.to_k(x)))
            scores = scores.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
            shares = nn.functional.softmax(scores, dim=-1)  # effect: GS369
            return (shares @ self.split(self.to_v(x))).transpose(1, 2).flatten(2)

    torch.manual_seed(0)
    heads, out = Heads(), nn.Linear(18, 2)
    opt = torch.optim.SGD([*heads.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        seen = heads(torch.randn(4, 6, 18)).mean(1)
        nn.functional.cross_entropy(out(seen), torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_embeddings_times_the_root() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, project, head = nn.Embedding(9, 16), nn.Linear(16, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*words.parameters(), *project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = words(torch.randint(9, (4, 6))) * 16**0.5
        q, k, v = project(x).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 4, dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_both_ways() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax((4 * q) @ (k / 16).transpose(1, 2), dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()
