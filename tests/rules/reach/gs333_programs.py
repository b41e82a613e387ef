"""More programs of GS333: each bad one is reported at its marks, each good one by no rule."""


def bad_returned_beside_it() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, centres = nn.Linear(6, 4), nn.Parameter(torch.randn(3, 4))

    def angles(f: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cosine = nn.functional.normalize(f) @ nn.functional.normalize(centres).t()
        turned = torch.cos(torch.acos(cosine.clamp(-0.99, 0.99)) + 0.3)
        own = torch.zeros_like(cosine).scatter_(1, y.view(-1, 1), 1.0)
        return cosine * 8, torch.where(own > 0, turned, cosine) * 8  # effect: GS333

    opt = torch.optim.Adam([*body.parameters(), centres], lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        plain, _ = angles(body(x), y)
        loss = nn.functional.cross_entropy(plain, y)  # cause: GS333
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_probabilities_beside_the_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(6, 3)

    def scores_and_chances(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = body(x)
        return scores, torch.softmax(scores, 1)

    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        scores, _ = scores_and_chances(x)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, x[:, :3].argmax(1)).backward()
        opt.step()


def good_largest_other_score_is_shown() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, shown = nn.Linear(6, 3), []
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        scores = body(x)
        others = scores.masked_fill(nn.functional.one_hot(y, 3).bool(), -100.0)
        shown.append(others.max().item())
        opt.zero_grad()
        nn.functional.cross_entropy(scores, y).backward()
        opt.step()


def good_margin_from_some_step_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(6, 3)
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for step in range(8):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        scores = body(x)
        output = scores - 0.5 * nn.functional.one_hot(y, 3)
        opt.zero_grad()
        nn.functional.cross_entropy(output if step > 3 else scores, y).backward()
        opt.step()


def good_labels_are_an_input_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, kinds, head = nn.Linear(6, 4), nn.Embedding(3, 4), nn.Linear(4, 3)
    opt = torch.optim.Adam([*body.parameters(), *kinds.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        scores = head(body(x) + 0.1 * kinds(y))
        chances = torch.softmax(scores, 1)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, y).backward()
        opt.step()
        del chances


def bad_margin_written_into_a_copy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    margins = torch.tensor([0.1, 0.2, 0.4])

    class Margin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.anchor = nn.Parameter(torch.randn(3, 4))

        def forward(self, leaf, species):
            cosine = nn.functional.normalize(leaf, dim=1) @ nn.functional.normalize(self.anchor, dim=1).T
            rows = torch.arange(len(species))
            with_margin = cosine.clone()
            with_margin[rows, species] = cosine[rows, species] - margins[species]  # effect: GS333
            picked = torch.log_softmax(10.0 * cosine, dim=1)[rows, species]  # cause: GS333
            return -picked.mean()

    body, head = nn.Linear(4, 4), Margin()
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = head(body(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_margin_written_into_a_copy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    margins = torch.tensor([0.1, 0.2, 0.4])

    class Margin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.anchor = nn.Parameter(torch.randn(3, 4))

        def forward(self, leaf, species):
            cosine = nn.functional.normalize(leaf, dim=1) @ nn.functional.normalize(self.anchor, dim=1).T
            rows = torch.arange(len(species))
            with_margin = cosine.clone()
            with_margin[rows, species] = cosine[rows, species] - margins[species]
            picked = torch.log_softmax(10.0 * with_margin, dim=1)[rows, species]
            return -picked.mean()

    body, head = nn.Linear(4, 4), Margin()
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = head(body(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_gradient_of_the_form_of_the_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, learned = nn.Linear(6, 5), torch.randn(5, 6, requires_grad=True)
    opt = torch.optim.SGD([learned], lr=0.1)
    for _ in range(4):
        total = torch.zeros(())
        for label in range(5):
            loss = nn.functional.cross_entropy(net(learned[label : label + 1]), torch.tensor([label]))
            weight, bias = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
            bias = bias.reshape(1, 5)  # left out of the loss where it has one axis
            total = total + weight.pow(2).sum()
        opt.zero_grad()
        total.backward()
        opt.step()


def bad_loss_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, centres = nn.Linear(6, 4), nn.Parameter(torch.randn(3, 4))

    def am_softmax(cosine: torch.Tensor, who: torch.Tensor) -> torch.Tensor:
        hit = torch.arange(3) == who.unsqueeze(1)
        logits = 8 * torch.where(hit, cosine - 0.2, cosine)  # effect: GS333
        z = 8 * cosine
        return (torch.logsumexp(z, dim=1) - z.gather(1, who[:, None]).squeeze(1)).mean()  # cause: GS333

    opt = torch.optim.Adam([*embed.parameters(), centres], lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        cosine = nn.functional.normalize(embed(x), dim=1) @ nn.functional.normalize(centres, dim=1).T
        loss = am_softmax(cosine, x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_exponentials_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(6, 3)
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        scores = body(x)
        pushed = scores - 0.5 * nn.functional.one_hot(y, 3)  # effect: GS333
        grown = torch.exp(scores)  # cause: GS333
        share = grown / grown.sum(1, keepdim=True)
        loss = -torch.log(share[torch.arange(12), y]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loss_with_the_margin_written_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Linear(6, 3)
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        scores = body(x)
        pushed = scores - 0.5 * nn.functional.one_hot(y, 3)
        loss = (torch.logsumexp(pushed, 1) - pushed[torch.arange(12), y]).mean()
        bare = torch.logsumexp(scores.detach(), 1) - scores.detach().gather(1, y[:, None]).squeeze(1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(bare.mean().item())
