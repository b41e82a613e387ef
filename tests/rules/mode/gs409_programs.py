"""More programs of GS409: each bad one is reported at its marks, each good one by no rule."""


def bad_backbone_that_train_puts_into_eval_mode() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
            self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 1))

        def train(self, mode: bool = True) -> "Net":
            super().train(mode)
            self.backbone.eval()  # cause: GS409
            return self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.backbone(x))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        net.train()
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()  # effect: GS409


def good_only_the_normalisation_rests() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    model[1].eval()
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_encoder_whose_dropout_is_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Reviews(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(20, 8)
            self.encoder = nn.LSTM(8, 8, num_layers=2, dropout=0.2, batch_first=True)
            self.judge = nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 1))

        def train(self, mode: bool = True) -> "Reviews":
            super().train(mode)
            self.encoder.train(False)  # cause: GS409
            return self

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            hidden, _ = self.encoder(self.words(ids))
            scores: torch.Tensor = self.judge(hidden[:, -1])
            return scores[:, 0]

    net = Reviews()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        net.train()
        ids = torch.randint(20, (16, 5))
        opt.zero_grad()
        (net(ids) - ids.float().mean(1)).pow(2).mean().backward()
        opt.step()  # effect: GS409
        net.eval()
        with torch.no_grad():
            net(ids)


def good_frozen_encoder_whose_dropout_rests() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, encoder = nn.Embedding(20, 8), nn.LSTM(8, 8, num_layers=2, dropout=0.2, batch_first=True)
    early = torch.optim.Adam([*words.parameters(), *encoder.parameters()], lr=0.01)
    for _ in range(3):
        ids = torch.randint(20, (16, 5))
        early.zero_grad()
        (encoder(words(ids))[0].mean((1, 2)) - ids.float().mean(1)).pow(2).mean().backward()
        early.step()
    judge = nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 1))
    words.requires_grad_(False)
    encoder.requires_grad_(False)
    encoder.eval()
    opt = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(3):
        ids = torch.randint(20, (16, 5))
        opt.zero_grad()
        (judge(encoder(words(ids))[0][:, -1])[:, 0] - ids.float().mean(1)).pow(2).mean().backward()
        opt.step()
