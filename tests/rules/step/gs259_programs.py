"""More programs of GS259: each bad one is reported at its marks, each good one by no rule."""


def good_weights_are_loaded() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    head, kept = nn.Linear(8, 3), nn.Linear(8, 2)
    probe = nn.Sequential(trunk, nn.Linear(8, 2)).eval()
    opt = torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(head(trunk(x)), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    probe[1].load_state_dict(kept.state_dict())
    with torch.no_grad():
        print(probe(torch.randn(8, 6)).argmax(1).tolist())


def good_random_features_in_training_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    random = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
    readout = nn.Linear(32, 2)
    both = nn.Sequential(random, readout)
    opt = torch.optim.Adam(readout.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 6)
        with torch.no_grad():
            features = random(x)
        loss = nn.functional.cross_entropy(readout(features), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(both(torch.randn(8, 6)).argmax(1).tolist())


def good_answers_of_the_features_alone() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.classes = nn.Linear(6, 8), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            features = self.trunk(x)
            return features, self.classes(features)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.trunk.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 6)
        opt.zero_grad()
        net.trunk(x).sub(1).pow(2).mean().backward()
        opt.step()
    with torch.no_grad():
        features, _ = net(torch.randn(8, 6))
        print(features.norm(dim=1).max().item() > 0)


def good_a_copy_of_what_was_trained() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, classes = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 3)
    opt = torch.optim.Adam([*trunk.parameters(), *classes.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 6)
        opt.zero_grad()
        nn.functional.cross_entropy(classes(trunk(x)), x[:, :3].argmax(1)).backward()
        opt.step()
    kept = nn.Sequential(copy.deepcopy(trunk), classes)
    with torch.no_grad():
        print(kept(torch.randn(8, 6)).argmax(1).tolist())
