"""More programs of GS363: each bad one is reported at its marks, each good one by no rule."""


def bad_by_matmul_of_a_transpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        both = torch.stack([encoder(x + 0.1), encoder(x - 0.1)], 1).flatten(0, 1)
        both = both / both.norm(dim=1, keepdim=True)
        logits = torch.matmul(both, both.transpose(0, 1))  # cause: GS363
        partner = torch.arange(16) ^ 1
        loss = criterion(logits / 0.1, partner)  # effect: GS363
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_its_own_positive() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        views = torch.cat([x + 0.1 * torch.randn(8, 6), x + 0.1 * torch.randn(8, 6)])
        z = nn.functional.normalize(encoder(views), dim=1)
        rows = torch.mm(z, z.T) / 0.5
        rows = rows - rows.max(dim=1, keepdim=True).values.detach()
        chances = rows.log_softmax(1)
        loss = -chances[torch.eye(16, dtype=torch.bool)].mean()  # cause: GS363
        opt.zero_grad()
        loss.backward()  # effect: GS363
        opt.step()


def good_diagonal_of_two_views() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, other = (nn.functional.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1) for _ in range(2))
        loss = -torch.diag((one @ other.T / 0.5).log_softmax(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_views_against_each_other() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        one = nn.functional.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1)
        other = nn.functional.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1)
        loss = nn.functional.cross_entropy(one @ other.t() / 0.1, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_sums_of_exponentials_by_hand() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    def nt_xent(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        both = F.normalize(torch.cat((first, second)), dim=-1)
        table = torch.einsum("id,jd->ij", both, both).div(0.2)  # cause: GS363
        near = torch.sum(F.normalize(first, dim=-1) * F.normalize(second, dim=-1), -1) / 0.2
        return (torch.logsumexp(table, dim=1) - near.repeat(2)).mean()  # effect: GS363

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        loss = nt_xent(encoder(F.dropout(x, 0.2)), encoder(F.dropout(x, 0.2)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_share_of_the_sum() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, two = encoder(x + 0.1 * torch.randn(8, 6)), encoder(x + 0.1 * torch.randn(8, 6))
        z = torch.cat([one, two])
        near = torch.exp(F.cosine_similarity(one, two, dim=-1) / 0.5)
        alike = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=-1)  # cause: GS363
        whole = torch.exp(alike / 0.5).sum(dim=-1)  # effect: GS363
        loss = -torch.log(torch.cat([near, near]) / whole).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sum_less_the_own_share() -> None:
    import math

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, two = encoder(x + 0.1 * torch.randn(8, 6)), encoder(x + 0.1 * torch.randn(8, 6))
        z = F.normalize(torch.cat([one, two]), dim=-1)
        near = torch.exp(F.cosine_similarity(one, two, dim=-1) / 0.5)
        whole = torch.exp(z @ z.t() / 0.5).sum(dim=-1) - math.exp(2)
        loss = -torch.log(torch.cat([near, near]) / whole).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sum_without_the_diagonal() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    others = ~torch.eye(16, dtype=torch.bool)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, two = encoder(x + 0.1 * torch.randn(8, 6)), encoder(x + 0.1 * torch.randn(8, 6))
        z = F.normalize(torch.cat([one, two]), dim=-1)
        table = torch.einsum("id,jd->ij", z, z) / 0.5
        near = (F.normalize(one, dim=-1) * F.normalize(two, dim=-1)).sum(-1).repeat(2) / 0.5
        loss = (torch.log((table.exp() * others).sum(1)) - near).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_spread_over_the_sphere() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, two = F.normalize(encoder(x), dim=1), F.normalize(encoder(x + 0.1 * torch.randn(8, 6)), dim=1)
        near = (one - two).square().sum(1).mean()
        loss = near + 0.5 * torch.logsumexp(one @ one.t() * 2, dim=1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
