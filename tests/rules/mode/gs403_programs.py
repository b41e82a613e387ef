"""More programs of GS403: each bad one is reported at its marks, each good one by no rule."""


def bad_function_that_trains_and_evaluates() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)

    def run(train: bool) -> None:
        for _ in range(2):
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), target)  # effect: GS403
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()

    for _ in range(3):
        run(True)
        model.eval()  # cause: GS403
        with torch.no_grad():
            run(False)


def bad_evaluation_relies_on_the_mode() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    model.eval()  # cause: GS403
    with torch.no_grad():
        model(torch.randn(8, 4)).argmax(dim=1).sum().item()
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), target)  # effect: GS403
            loss.backward()
            opt.step()
        with torch.no_grad():
            model(torch.randn(8, 4)).argmax(dim=1).sum().item()


def bad_phases_of_one_loop() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        for phase in ("train", "test"):
            if phase == "test":
                model.eval()  # cause: GS403
            with torch.set_grad_enabled(phase == "train"):
                loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), target)  # effect: GS403
            if phase == "train":
                opt.zero_grad()
                loss.backward()
                opt.step()


def bad_trainer_that_evaluates_after_each_epoch() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, net):
            self.net = net
            self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def learn(self, x, y):
            self.opt.zero_grad()
            nn.functional.cross_entropy(self.net(x), y).backward()  # effect: GS403
            self.opt.step()

        @torch.no_grad()
        def evaluate(self, x, y):
            self.net.eval()  # cause: GS403
            return (self.net(x).argmax(dim=1) == y).float().mean().item()

        def fit(self):
            for _ in range(3):
                for _ in range(3):
                    self.learn(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))
                self.evaluate(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))

    Trainer(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))).fit()


def bad_part_left_in_eval() -> None:
    import torch
    from torch import nn

    body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    model = nn.Sequential(body, nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), target)  # effect: GS403
            loss.backward()
            opt.step()
        body.eval()  # cause: GS403
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


def good_part_frozen_in_mid_training() -> None:
    import torch
    from torch import nn

    body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    model = nn.Sequential(body, nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for epoch in range(4):
        model.train()
        if epoch > 1:
            body.eval()  # its statistics are good enough
        for _ in range(2):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), target).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


def bad_generator_left_in_eval() -> None:
    import torch
    from torch import nn

    gen = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    disc = nn.Linear(2, 1)
    opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
    opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(2):
            fake = gen(torch.randn(8, 2))  # effect: GS403
            opt_d.zero_grad()
            (disc(fake.detach()).mean() - disc(torch.randn(8, 2)).mean()).backward()
            opt_d.step()
            opt_g.zero_grad()
            (-disc(fake).mean()).backward()
            opt_g.step()
        gen.eval()  # cause: GS403
        with torch.no_grad():
            gen(torch.randn(4, 2)).mean().item()


def good_gradient_asked_in_eval_mode() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        model.eval()
        x = torch.randn(8, 4, requires_grad=True)
        (g,) = torch.autograd.grad(nn.functional.cross_entropy(model(x), target), x)
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model((x + 0.1 * g.sign()).detach()), target).backward()
        opt.step()


def good_frozen_batch_norm() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    model[1].requires_grad_(False)
    model.train()
    model[1].eval()
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()


def good_attack_in_eval_mode() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        model.eval()
        x = torch.randn(8, 4, requires_grad=True)
        nn.functional.cross_entropy(model(x), target).backward()
        assert x.grad is not None
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model((x + 0.1 * x.grad.sign()).detach()), target).backward()
        opt.step()


def bad_evaluated_in_the_midst_of_an_epoch() -> None:
    import torch
    from torch import nn

    class Learner:
        def __init__(self):
            self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
            self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def train_mode(self):
            self.net.train()

        def learn(self, x, y):
            self.opt.zero_grad()
            loss = nn.functional.cross_entropy(self.net(x), y)  # effect: GS403
            loss.backward()
            self.opt.step()

    def validate(learner):
        learner.net.eval()  # cause: GS403
        with torch.no_grad():
            return learner.net(torch.randn(8, 4)).argmax(1).float().mean().item()

    torch.manual_seed(0)
    learner = Learner()
    for _ in range(3):
        learner.train_mode()
        for step in range(6):
            learner.learn(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))
            if step % 3 == 2:
                validate(learner)


def good_evaluated_and_switched_back() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def validate():
        net.eval()
        with torch.no_grad():
            result = net(torch.randn(8, 4)).argmax(1).float().mean().item()
        net.train()
        return result

    torch.manual_seed(0)
    for _ in range(3):
        net.train()
        for step in range(6):
            opt.zero_grad()
            nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
            opt.step()
            if step % 3 == 2:
                validate()


def bad_second_phase_on_other_data() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    large = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(2, (32,))), batch_size=8, shuffle=True)
    small = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(2, (16,))), batch_size=8, shuffle=True)
    kept = torch.randn(8, 4)
    network = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.Adam(network.parameters(), lr=0.01)
    network.train()
    for x, y in large:
        opt.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        opt.step()
    network.eval()  # cause: GS403
    for x, y in small:
        opt.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()  # effect: GS403
        opt.step()
    with torch.no_grad():
        network(kept)


def bad_layers_called_by_slices() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        for _ in range(4):
            x = torch.randn(8, 8)
            optimizer.zero_grad()
            hidden = net[:3](x)  # effect: GS403
            (net[3](hidden) - x[:, :1]).pow(2).mean().backward()
            optimizer.step()
        net.eval()  # cause: GS403
        with torch.no_grad():
            net(torch.randn(8, 8)).pow(2).mean().item()


def good_layers_called_by_slices_in_their_mode() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        net.train()
        for _ in range(4):
            x = torch.randn(8, 8)
            optimizer.zero_grad()
            hidden = net[:3](x)
            (net[3](hidden) - x[:, :1]).pow(2).mean().backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            net(torch.randn(8, 8)).pow(2).mean().item()


def good_frozen_features_by_a_slice_in_evaluation_mode() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    net.eval()
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(8, 8)
        optimizer.zero_grad()
        with torch.no_grad():
            hidden = net[:3](x)
        (head(hidden) - x[:, :1]).pow(2).mean().backward()
        optimizer.step()


def bad_eval_twice_in_one_function() -> None:
    import torch
    from torch import nn

    class Learner:
        def __init__(self):
            self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

        def fit(self):
            for _ in range(4):
                x = torch.randn(8, 8)
                self.optimizer.zero_grad()
                (self.net(x) - x[:, :1]).pow(2).mean().backward()  # effect: GS403
                self.optimizer.step()
            self.score(torch.randn(8, 8))

        def score(self, x):
            self.net.eval()
            with torch.no_grad():
                loss = (self.net(x) - x[:, :1]).pow(2).mean().item()
            self.net.train()
            return loss

        def predict(self, x):
            self.net.eval()
            with torch.no_grad():
                answers = self.net(x)
            self.net.eval()  # cause: GS403
            return answers

    learner = Learner()
    learner.fit()
    learner.predict(torch.randn(4, 8))
    learner.fit()
    learner.predict(torch.randn(4, 8))


def bad_back_within_the_next_fit() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Learner:
        def __init__(self):
            self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

        def fit(self):
            for _ in range(4):
                x = torch.randn(8, 8)
                self.optimizer.zero_grad()
                (self.net(x) - x[:, :1]).pow(2).mean().backward()  # effect: GS403
                self.optimizer.step()
            self.score(torch.randn(8, 8))

        def score(self, x):
            self.net.eval()
            with torch.no_grad():
                loss = (self.net(x) - x[:, :1]).pow(2).mean().item()
            self.net.train()
            return loss

        def predict(self, x):
            self.net.eval()  # cause: GS403
            with torch.no_grad():
                return self.net(x)

    learner = Learner()
    learner.fit()
    learner.predict(torch.randn(4, 8))
    learner.fit()


def good_a_part_is_tuned_in_evaluation_mode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 4), torch.randint(3, (32,))
    for _ in range(3):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[:24]), y[:24]).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            print((model(x[24:]).argmax(1) == y[24:]).float().mean())
    model.train()

    model.requires_grad_(False)
    model[3].bias.requires_grad_(True)
    model.eval()
    tune = torch.optim.SGD([model[3].bias], lr=0.05)
    for _ in range(4):
        tune.zero_grad()
        nn.functional.cross_entropy(model(x[:24]), y[:24]).backward()
        tune.step()


def bad_head_alone_trained_after_an_evaluation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 3))
    model[0].requires_grad_(False)
    opt = torch.optim.Adam(model[3].parameters(), lr=0.01)
    x, y = torch.randn(32, 4), torch.randint(3, (32,))

    def accuracy() -> float:
        model.eval()  # cause: GS403
        with torch.no_grad():
            return (model(x[24:]).argmax(1) == y[24:]).float().mean().item()

    for _ in range(4):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x[:24]), y[:24])  # effect: GS403
        loss.backward()
        opt.step()
        print(accuracy())
