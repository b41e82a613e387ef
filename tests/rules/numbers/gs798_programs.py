"""More programs of GS798: each bad one is reported at its marks, each good one by no rule."""


def bad_weights_divided_in_their_own_line() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
            self.drop = nn.Dropout(0.1)
            self.scale = 8**0.5

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = torch.matmul(self.q(x), self.k(x).transpose(-2, -1))
            weights = scores.softmax(dim=-1)
            weights = self.drop(weights)
            weights = weights / self.scale  # cause: GS798
            out: torch.Tensor = torch.matmul(weights, self.v(x))  # effect: GS798
            return out

    torch.manual_seed(0)
    net, head = Attention(), nn.Linear(8, 1)
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(net(torch.randn(4, 6, 8))).pow(2).mean().backward()
        opt.step()


def bad_weights_multiplied_by_a_scale() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    scale = 8**-0.5
    softmax = nn.Softmax(dim=-1)
    hidden = torch.ones(6, 6).triu(1).bool()
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        energy = torch.einsum("bqd,bkd->bqk", q, k).masked_fill(hidden, float("-inf"))
        weights = scale * softmax(energy)  # cause: GS798
        scores = head(torch.einsum("bqk,bkd->bqd", weights, v).mean(1))  # effect: GS798
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def bad_scale_made_between() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2), dim=-1)
        root = q.shape[-1] ** 0.5
        weights = weights.div(root)  # cause: GS798
        scores = head((weights @ v).mean(1))  # effect: GS798
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_linear_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        q = q.softmax(dim=-1) * 8**-0.5
        k = k.softmax(dim=-2)
        context = torch.einsum("bnd,bne->bde", k, v)
        scores = head(torch.einsum("bnd,bde->bne", q, context).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_dropout_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1)
        kept = (torch.rand_like(weights) > 0.1).float()
        scores = head((weights / 0.9 * kept @ v).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_mean_over_the_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(4, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).view(4, 6, 6, 4).transpose(1, 2).chunk(3, dim=1)
        weights = torch.softmax(q @ k.transpose(2, 3), dim=-1) / 2
        scores = head((weights @ v).sum(1).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_a_temperature_within_and_its_square_on_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher, student = nn.Linear(8, 3), nn.Linear(8, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    heat = 4.0
    for _ in range(3):
        x = torch.randn(8, 8)
        with torch.no_grad():
            wanted = torch.softmax(teacher(x) / heat, dim=1)
        given = torch.log_softmax(student(x) / heat, dim=1)
        opt.zero_grad()
        (nn.functional.kl_div(given, wanted, reduction="batchmean") * heat * heat).backward()
        opt.step()


def good_scores_of_losses_that_are_balanced() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(8, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    before, now = torch.ones(3), torch.tensor([0.9, 0.5, 0.7])
    for _ in range(3):
        losses = net(torch.randn(16, 8)).pow(2).mean(0)
        weights = 3 * torch.softmax(now / before / 2.0, dim=0)
        opt.zero_grad()
        (weights * losses).sum().backward()
        opt.step()
        before, now = now, losses.detach()


def good_a_scale_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    strength = 1.0
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2), dim=-1) * strength
        scores = head((weights @ v).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good_scaled_back_behind_the_values() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2), dim=-1) / 16
        scores = head((weights @ v).mul(16).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()
