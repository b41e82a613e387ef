"""More programs of GS401: each bad one is reported at its marks, each good one by no rule."""


def bad_training_mode_where_it_evaluates() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        with torch.no_grad():  # effect: GS401
            model.train()
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()  # cause: GS401


def bad_beside_a_loss_module() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for _ in range(2):
            opt.zero_grad()
            criterion(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
            opt.step()
        (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()  # cause: GS401


def bad_evaluation_that_returns() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def train() -> None:
        for _ in range(2):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
            opt.step()

    def evaluate() -> float:
        with torch.no_grad():  # effect: GS401
            return float((model(torch.randn(8, 4)).argmax(dim=1) == 0).sum())  # cause: GS401

    for _ in range(2):
        train()
        evaluate()


def bad_function_that_trains_and_tests() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def run(train: bool) -> float:
        total = 0.0
        for _ in range(2):
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item()
        return total

    for _ in range(2):
        run(train=True)
        run(train=False)  # cause: GS401


def bad_phases_of_one_loop() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for phase in ("train", "train", "val", "val"):
            scores = model(torch.randn(8, 4))  # cause: GS401
            loss = nn.functional.cross_entropy(scores, torch.zeros(8, dtype=torch.long))
            if phase == "train":
                opt.zero_grad()
                loss.backward()
                opt.step()
            print((scores.argmax(dim=1) == 0).sum().item())


def good_pass_that_is_skipped() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
        print(loss.item())
        if step % 3:
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_dropout_as_a_function() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = functional.dropout(self.inner(x).relu(), 0.5, training=self.training)
            return self.outer(hidden)  # type: ignore[no-any-return]

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        opt.step()
    with torch.no_grad():  # effect: GS401
        scores = net(torch.randn(8, 4))  # cause: GS401
        print((scores.argmax(dim=1) == 0).float().mean())


def bad_dropout_as_a_function_that_is_told_of_no_mode() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = functional.dropout(self.inner(x).relu(), 0.5)
            return self.outer(hidden)  # type: ignore[no-any-return]

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        opt.step()
    with torch.no_grad():  # effect: GS401
        scores = net(torch.randn(8, 4))  # cause: GS401
        print((scores.argmax(dim=1) == 0).float().mean())


def good_dropout_as_a_function() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = functional.dropout(self.inner(x).relu(), 0.5, training=self.training)
            return self.outer(hidden)  # type: ignore[no-any-return]

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net.train()
        opt.zero_grad()
        functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            scores = net(torch.randn(8, 4))
            print((scores.argmax(dim=1) == 0).float().mean())


def good_monte_carlo_dropout() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
    model.eval()
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.train()
    with torch.no_grad():
        torch.stack([model(torch.randn(8, 4)) for _ in range(3)]).std(dim=0).mean().item()


def good_generator_under_no_grad() -> None:
    import torch
    from torch import nn

    generator = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    critic = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 1))
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            fake = generator(torch.randn(8, 2))
        opt_c.zero_grad()
        (critic(fake).mean() - critic(torch.randn(8, 4)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(generator(torch.randn(8, 2))).mean()).backward()
        opt_g.step()
    with torch.no_grad():
        sample = generator(torch.randn(8, 2))
    sample.mul(0.5).add(0.5).clamp(0, 1).numpy()


def good_samples_kept() -> None:
    import torch
    from torch import nn

    generator = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    critic = nn.Linear(4, 1)
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    fixed = torch.randn(8, 2)
    images = []
    for _ in range(2):
        fake = generator(torch.randn(8, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(8, 4)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()
        with torch.no_grad():
            image = generator(fixed).detach().cpu()
        images.append(image)


def bad_method_of_the_model() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.drop, self.outer = nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.outer(self.drop(self.inner(x)))
            return scores

        def tag(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():  # effect: GS401
                scores: torch.Tensor = self.outer(self.drop(self.drop(self.inner(x))))
                return scores.argmax(dim=1)

    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.tag(torch.randn(8, 4)).sum().item()  # cause: GS401


def good_method_that_samples_with_dropout() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.drop, self.outer = nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.outer(self.drop(self.inner(x)))
            return scores

        @torch.no_grad()
        def spread(self, x: torch.Tensor) -> torch.Tensor:
            self.eval()
            self.drop.train()
            found: torch.Tensor = torch.stack([self.outer(self.drop(self.inner(x))) for _ in range(4)])
            self.train()
            return found.std(dim=0)

    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.spread(torch.randn(8, 4)).sum().item()


def good_decoder_that_draws_samples() -> None:
    """An autoencoder's samples, drawn while it trains, as GANs draw theirs: no evaluation."""
    import torch
    from torch import nn

    encoder = nn.Linear(6, 2)
    decoder = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        opt.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        opt.step()
        drawn = decoder(torch.randn(9, 2))
        (drawn - drawn.min().item()).data.numpy()


def bad_decoder_that_is_evaluated() -> None:
    import torch
    from torch import nn

    encoder = nn.Linear(6, 2)
    decoder = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        opt.zero_grad()
        nn.functional.mse_loss(decoder(encoder(x)), x).backward()
        opt.step()
    with torch.no_grad():  # effect: GS401
        x = torch.randn(16, 6)
        print(nn.functional.mse_loss(decoder(encoder(x)), x).item())  # cause: GS401


def good_both_modes_compared() -> None:
    import torch
    from torch import nn

    def error(model: nn.Module, x: torch.Tensor) -> float:
        with torch.no_grad():
            return float(model(x).pow(2).mean())

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(16, 4)).pow(2).mean().backward()
        opt.step()
    held_out = torch.randn(32, 4)
    by_batch = error(model, held_out)
    model.eval()
    print(by_batch, error(model, held_out))


def bad_validated_in_training_mode_until_the_end() -> None:
    import torch
    from torch import nn

    def error(model: nn.Module, x: torch.Tensor) -> float:
        with torch.no_grad():  # effect: GS401
            return float(model(x).pow(2).mean())  # cause: GS401

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    held_out = torch.randn(32, 4)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(16, 4)).pow(2).mean().backward()
        opt.step()
        print(error(model, held_out))
    model.eval()
    print(error(model, held_out))


def bad_losses_that_training_mode_gives() -> None:
    import torch
    from torch import nn

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2))
            self.boxes, self.classes = nn.Linear(8, 4), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor, targets: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            hidden = self.body(x)
            boxes, classes = self.boxes(hidden), self.classes(hidden)
            if self.training:
                return {
                    "loss_boxes": nn.functional.l1_loss(boxes, targets["boxes"]),
                    "loss_classes": nn.functional.cross_entropy(classes, targets["classes"]),
                }
            return {"boxes": boxes, "classes": classes.argmax(dim=1)}

    model = Detector()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        for _ in range(2):
            targets = {"boxes": torch.randn(8, 4), "classes": torch.randint(3, (8,))}
            loss_dict = model(torch.randn(8, 4), targets)
            loss = sum(loss_dict.values(), torch.zeros(()))
            opt.zero_grad()
            loss.backward()
            opt.step()
        average = 0.0
        with torch.no_grad():  # effect: GS401
            for _ in range(2):
                targets = {"boxes": torch.randn(8, 4), "classes": torch.randint(3, (8,))}
                loss_dict = model(torch.randn(8, 4), targets)  # cause: GS401
                average += sum(loss_dict.values(), torch.zeros(())).item()


def bad_loss_where_evaluation_mode_gives_scores() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.body(x)
            return nn.functional.cross_entropy(scores, y) if self.training else scores

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 4), torch.zeros(8, dtype=torch.long)).backward()
            opt.step()
        with torch.no_grad():  # effect: GS401
            total = model(torch.randn(8, 4), torch.zeros(8, dtype=torch.long)).item()  # cause: GS401
        model.eval()
        with torch.no_grad():
            right = (
                (model(torch.randn(8, 4), torch.zeros(8, dtype=torch.long)).argmax(dim=1) == 0).sum().item()
            )
        print(total, right)


def bad_losses_in_either_mode() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": nn.functional.cross_entropy(self.body(x), y)}

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))["loss"].backward()
            opt.step()
        with torch.no_grad():  # effect: GS401
            total = model(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))["loss"].item()  # cause: GS401
        print(total)


def bad_evaluated_by_forward_while_nobody_looks() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout())
            self.head = nn.Sequential(nn.Linear(16, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head.forward(self.body.forward(x))  # type: ignore[no-any-return]

    def learn(net: Net, opt: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> float:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net.forward(x), y)
        loss.backward()
        opt.step()
        return loss.item()

    def predict(net: Net, x: torch.Tensor) -> torch.Tensor:
        return net.forward(x).detach().argmax(1)  # cause: GS401

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(1200, 8), torch.randint(0, 3, (1200,))
    for _ in range(3):
        for first in range(0, 960, 16):
            learn(net, opt, x[first : first + 16], y[first : first + 16])
        (predict(net, x[960:]) == y[960:]).float().mean().item()


def bad_layer_that_eval_does_not_reach() -> None:  # fix: by hand
    """The model is in evaluation mode, its norm in a plain list is not."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)
            self.norms = [nn.BatchNorm1d(8, affine=False)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.norms[0](self.first(x))  # cause: GS401
            out: torch.Tensor = self.last(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(3):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()  # effect: GS401


def good_statistics_of_the_batch_by_a_layer_without_weights() -> None:
    """One that is made anew each time takes the batch's statistics, as `F.batch_norm(training=True)` does."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.BatchNorm1d(8, affine=False)(self.first(x))
            out: torch.Tensor = self.last(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(3):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


def bad_encoder_that_was_called_alone_before() -> None:
    """The encoder's layers are known by the encoder; `eval()` of the whole would reach them."""
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self, encoder: nn.Module) -> None:
            super().__init__()
            self.encoder, self.head = encoder, nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.head(self.encoder(x))
            return out

    encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
    print(encoder(torch.randn(8, 4)).shape)
    model = Classifier(encoder)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(3):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
            opt.step()
        with torch.no_grad():  # effect: GS401
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()  # cause: GS401


def good_calibration_that_puts_it_in_training_mode_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    ranges: dict[nn.Module, torch.Tensor] = {}

    def calibrate() -> None:
        def note(module: nn.Module, given: object, result: torch.Tensor) -> None:
            ranges[module] = result.detach().abs().amax()

        hooks = [module.register_forward_hook(note) for module in model]
        model.train()
        for _ in range(2):
            with torch.no_grad():
                output = model(torch.randn(8, 4))
            break
        for hook in hooks:
            hook.remove()

    for _ in range(2):
        model.train()
        for _ in range(3):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
            opt.step()
        calibrate()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(1) == 0).sum().item()


def bad_predictions_kept_in_training_mode_that_was_asked_for() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    predictions = []
    model.train()
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
    with torch.no_grad():  # effect: GS401
        for _ in range(2):
            output = model(torch.randn(8, 4))  # cause: GS401
            predictions.append(output)


def bad_estimator_with_a_train_of_its_own() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Estimator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.model(x)  # type: ignore[no-any-return]

        def train(self, x: torch.Tensor, y: torch.Tensor) -> "Estimator":  # type: ignore[override]
            opt = torch.optim.SGD(self.parameters(), lr=0.1)
            for _ in range(4):
                loss = (self.forward(x) - y).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            return self

    def predict(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return net(x)  # type: ignore[no-any-return]  # cause: GS401

    given = torch.randn(16, 4)
    estimator = Estimator()
    estimator.train(given, given[:, :1])
    print(estimator.model[1].momentum)
    with torch.no_grad():  # effect: GS401
        (predict(estimator, given) - given[:, :1]).pow(2).mean().item()


def good_instance_norms_that_take_each_sample_by_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.InstanceNorm2d(8, affine=True, track_running_stats=True),
        nn.ReLU(),
        nn.Conv2d(8, 3, 3),
    )
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.randn(4, 3, 12, 12)
        opt.zero_grad()
        nn.functional.l1_loss(net(x), x[..., 2:-2, 2:-2]).backward()
        opt.step()
    with torch.no_grad():
        net(torch.randn(2, 3, 12, 12)).clamp(0, 1)


def good_statistics_gathered_anew() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    batches = [torch.randn(16, 4) for _ in range(4)]
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in batches:
        opt.zero_grad()
        (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean().backward()
        opt.step()
    for layer in model:
        if isinstance(layer, nn.BatchNorm1d):
            layer.reset_running_stats()
            layer.momentum = None
    with torch.no_grad():
        for x in batches:
            _ = model(x)
    model.eval()
    with torch.no_grad():
        print(model(batches[0]).mean())
