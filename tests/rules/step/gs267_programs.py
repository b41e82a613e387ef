"""More programs of GS267: each bad one is reported at its marks, each good one by no rule."""


def bad_backbone_without_its_weights() -> None:
    import torch
    from torch import nn

    def backbone(pretrained: bool) -> nn.Module:
        body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.ReLU())
        if pretrained:
            body.load_state_dict(torch.load("body.pt"))
        for p in body[0].parameters():
            p.requires_grad = False  # cause: GS267
        return body

    torch.manual_seed(0)
    model = nn.Sequential(backbone(False), nn.Flatten(), nn.Linear(8 * 16, 2))
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(6):
        x = torch.randn(8, 3, 8, 8)
        scores = model(x)  # effect: GS267
        loss = nn.functional.cross_entropy(scores, (x.mean((1, 2, 3)) > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_random_target() -> None:
    import torch
    from torch import nn

    class Curious(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.target, self.guess = nn.Linear(4, 3), nn.Linear(4, 3)
            for p in self.target.parameters():
                p.requires_grad_(False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.target(x) - self.guess(x)).pow(2).mean()

    torch.manual_seed(0)
    curious = Curious()
    opt = torch.optim.SGD(curious.guess.parameters(), lr=0.1)
    for _ in range(6):
        loss = curious(torch.randn(16, 4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_trained_before_it_was_frozen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for turn in range(12):
        if turn == 6:
            for p in net[0].parameters():
                p.requires_grad_(False)
        x = torch.randn(16, 4)
        loss = (net(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_held_by_the_optimizer_as_well() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 2)
    net = nn.Sequential(body, nn.ReLU(), head)
    for p in body.parameters():
        p.requires_grad = False  # cause: GS267  # effect: GS208
    opt = torch.optim.Adam(net.parameters(), lr=0.01)  # cause: GS208
    for _ in range(6):
        x = torch.randn(16, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()  # effect: GS267
        opt.step()


def bad_a_helper_freezes_the_layer_behind_as_well() -> None:
    import torch
    from torch import nn

    def freeze(module):
        for p in module.parameters():
            p.requires_grad = False  # cause: GS267

    torch.manual_seed(0)
    vectors = torch.randn(20, 8)
    emb, squeeze, head = nn.Embedding(20, 8), nn.Linear(8, 4), nn.Linear(4, 2)
    emb.weight.data.copy_(vectors)
    freeze(emb)
    net = nn.Sequential(nn.Sequential(emb, squeeze), nn.ReLU(), head)
    freeze(net[0])  # related: GS267
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(6):
        words = torch.randint(0, 20, (16,))
        loss = nn.functional.cross_entropy(net(words), words % 2)  # effect: GS267
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_copied_through_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    vectors = torch.randn(20, 8)
    emb, head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 2)
    emb.weight.data.copy_(vectors)
    emb.weight.requires_grad = False
    net = nn.Sequential(emb, head)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(6):
        words = torch.randint(0, 20, (16,))
        loss = nn.functional.cross_entropy(net(words), words % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
