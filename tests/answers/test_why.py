"""`why`: each question has its shortest honest answer, at the right lines."""

import inspect
from dataclasses import dataclass

import pytest
import torch
from rule_programs import programs
from torch import nn

import gradscope
from gradscope.analysis.words import parameter_name
from gradscope.answers import why
from gradscope.model import GradscopeError
from gradscope.render.answer import render


def line_of(text: str) -> int:
    """The line of this file that holds `text` first."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1 = nn.Linear(4, 8)
        self.layer2 = nn.Linear(8, 2)
        self.spare = nn.Linear(1, 1)

    def forward(self, x):
        hidden = torch.relu(self.layer1(x))
        severed = hidden.detach()
        return self.layer2(severed)


@pytest.fixture(scope="module")
def scope():
    model = Net()
    model.layer2.bias.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            x = torch.randn(3, 4)
            optimizer.zero_grad()
            logits = model(x)
            loss = logits.pow(2).mean()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            score = model(x).mean()
        number = score.item()
    assert number is not None
    return scope


@pytest.fixture
def trace(scope):
    return scope.trace


def places(answer, main=False):
    return [step.site.line for step in answer.steps if step.main or not main]


def test_a_parameter_behind_a_cut(trace):
    answer = why(trace, "layer1.weight")
    assert "cut off" in answer.headline
    assert places(answer, main=True) == [line_of("severed = hidden.detach()")]
    assert line_of("            loss.backward()") in places(answer)
    assert any("0 of 2 backward passes" in fact for fact in answer.seen)


def test_a_parameter_with_its_gradient(trace):
    answer = why(trace, "layer2.weight")
    assert "gets its gradient" in answer.headline
    assert places(answer) == [
        line_of("            loss.backward()"), line_of("loss = logits.pow(2)"), line_of("return self.layer2(severed)"),
    ]  # fmt: skip
    assert any("2 of 2 backward passes" in fact for fact in answer.seen)
    assert why(trace, "model.layer2.weight").headline == answer.headline


def test_frozen_and_unused(trace):
    assert "does not require one" in why(trace, "layer2.bias").headline
    with pytest.raises(GradscopeError, match="not one parameter"):
        why(trace, "weight")


def test_variables(trace):
    assert why(trace, "loss").headline.startswith("`loss` requires grad because `layer2.weight` does")
    assert "`detach` leaves the graph" in why(trace, "severed").headline
    assert "no_grad" in why(trace, "score").headline
    assert "plain value" in why(trace, "number").headline
    assert "without `requires_grad=True`" in why(trace, "x").headline


def test_places(trace):
    line = line_of("severed = hidden.detach()")
    assert f"test_why.py:{line}" in why(trace, f"test_why.py:{line}").headline
    with pytest.raises(GradscopeError, match="the nearest lines are"):
        why(trace, "test_why.py:1")
    with pytest.raises(GradscopeError, match=r"no tensor operation of `other\.py`"):
        why(trace, "other.py:1")


def test_unknown_names_get_close_matches(trace):
    with pytest.raises(GradscopeError, match="did you mean `loss`"):
        why(trace, "los")


def test_a_refused_backward():
    with gradscope.watch() as scope:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            w = (a * 3).sum()
        with pytest.raises(RuntimeError):
            w.backward()
    answer = why(scope.trace, "w")
    assert "`torch.no_grad()`, opened at" in answer.headline
    assert any("so torch refuses" in step.label for step in answer.steps)


def test_two_losses_and_a_plain_leaf():
    with gradscope.watch() as scope:
        a = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        unused = (b * 2).sum()
        (a * 2).sum().backward()
    assert unused is not None
    assert "gets its gradient" in why(scope.trace, "a").headline
    assert "nothing that was computed from it is part of a loss" in why(scope.trace, "b").headline


def test_frames(trace):
    text = render(trace, why(trace, "layer1.weight"))
    assert "severed = hidden.detach()\n" in text
    assert "^^^^" in text
    assert " seen: " in text


def test_command(trace, capsys):
    from gradscope.commands import main

    assert main(["why", str(trace.path), "loss"]) == 0
    assert "requires grad because" in (told := capsys.readouterr().out)
    assert main(["why", "loss", str(trace.path)]) == 0
    assert capsys.readouterr().out == told
    assert main(["why", str(trace.path), "nothing_of_the_kind"]) == 2
    assert main(["why"]) == 2


def generator_behind_a_second_cut() -> None:
    generator = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
    critic = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        again = fake.detach()
        loss = -critic(again).mean()
        loss.backward()
        opt_g.step()


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    "program",
    [generator_behind_a_second_cut, *(program.function for program in programs("bad", "GS301"))],
    ids=lambda program: program.__name__,
)
def test_the_answer_is_that_of_the_finding(program):
    with gradscope.watch() as scope:
        program()
    (finding,) = [f for f in scope.findings if f.code == "GS301"]
    told = {place.line for place in finding.locations if place.role != "effect"}
    ids = [subject[1] for subject in finding.subjects if subject[0] == "parameter"]
    assert ids
    for id in ids:
        answer = why(scope.trace, parameter_name(scope.trace, id))
        assert "has no gradient" in answer.headline
        if "cut off" in answer.headline:  # what left torch as a number has no more way in it
            assert told & set(places(answer, main=True)), answer
            assert finding.effect.line in places(answer), answer


def test_every_name_of_a_parameter_is_understood():
    with gradscope.watch() as scope:
        generator_behind_a_second_cut()
    answers = [
        why(scope.trace, name)
        for name in ("generator.0.weight", "generator[0].weight", "generator[0]", "generator")
    ]
    assert {answer.subject for answer in answers} == {"generator.0.weight"}
    with pytest.raises(GradscopeError, match=r"generator.0.weight or critic.0.weight"):
        why(scope.trace, "0.weight")


def test_one_model_goes_by_its_own_and_its_short_names():
    with gradscope.watch() as scope:
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            model[1](model[0](torch.randn(4, 2)).detach()).pow(2).mean().backward()
            opt.step()
    for name in ("0.weight", "model.0.weight", "model[0].weight", "model[0]"):
        assert "has no gradient" in why(scope.trace, name).headline


def test_a_parameter_that_took_another_one_s_place_goes_by_its_own_name():
    with gradscope.watch() as scope:
        model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
        model(torch.randn(4, 2)).pow(3).sum().backward()
        model[1].weight = nn.Parameter(torch.full((2,), 2.0))
        model(torch.randn(4, 2)).pow(3).sum().backward()
    names = {parameter_name(scope.trace, p.id): p.id for p in scope.trace.parameters}
    for name in ("1.weight", "model[1].weight"):
        assert why(scope.trace, name).parameter.id == names[name]


def test_models_that_share_a_variable_share_a_name():
    with gradscope.watch() as scope:
        for cut in (False, True):
            model = Net() if cut else nn.Sequential(nn.Linear(4, 2))
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                model(torch.randn(3, 4)).pow(2).mean().backward()
                opt.step()
        again = Net()
        again(torch.randn(3, 4)).pow(2).mean().backward()
    assert "cut off" in why(scope.trace, "model.layer1.weight").headline


def test_a_parameter_that_only_the_first_pass_trained():
    """The report says of it that it is switched on behind the pass, and so does the answer."""
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(6):
            opt.zero_grad()
            head(body(torch.randn(4, 4))).mean().backward()
            body.requires_grad_(True)
            opt.step()
            body.requires_grad_(False)
    answer = why(scope.trace, "body.weight")
    assert "each later one finds it frozen" in answer.headline
    assert [step.main for step in answer.steps] == [False, False, True]
    assert "GS265" in {finding.code for finding in scope.findings}


def test_a_parameter_frozen_behind_its_first_pass():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(4, 4)).mean().backward()
            opt.step()
            model[0].requires_grad_(False)
    answer = why(scope.trace, "0.weight")
    assert "requires_grad was switched off" in answer.headline
    assert "requires_grad is switched off here" in answer.steps[0].label


def test_networks_that_helpers_freeze_in_turns():
    def switch(model, to):
        model.train(to).requires_grad_(to)

    one, two = nn.Linear(2, 2), nn.Linear(2, 1)
    first, second = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (one, two))
    with gradscope.watch() as scope:
        for _ in range(4):
            switch(one, True), switch(two, False)
            first.zero_grad()
            two(one(torch.randn(4, 2))).mean().backward()
            first.step()
            switch(one, False), switch(two, True)
            second.zero_grad()
            two(torch.randn(4, 2)).mean().backward()
            second.step()
    for name in ("one.weight", "two.weight"):
        assert why(scope.trace, name).headline == f"`{name}` gets its gradient by the way below"


def test_a_parameter_frozen_before_any_module_had_it():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    with gradscope.watch() as scope:
        model[0].requires_grad_(False)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(4, 4)).mean().backward()
            opt.step()
    answer = why(scope.trace, "0.weight")
    assert answer.steps[0].label == "requires_grad is switched off here"
    assert "leave `model[0].requires_grad_(False)` (test_why.py:" in answer.fix


def test_a_pass_that_raised_on_its_way():
    model, scale, head = nn.Linear(4, 1), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        x = torch.randn(4, 4)
        out, width = model(x), head(scale(x))
        (out * width.detach()).mean().backward()
        opt.step()
        with torch.no_grad():
            head.weight.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            width.mean().backward()
    answer = why(scope.trace, "scale.weight")
    assert (
        answer.headline == "`scale.weight` has no gradient: the backward pass failed before it was complete"
    )


def test_a_parameter_frozen_while_sampling_slept():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for step in range(100):
            if step == 60:
                model[0].requires_grad_(False)  # frozen by hand
            optimizer.zero_grad()
            model(torch.randn(4, 4)).mean().backward()
            optimizer.step()
    answer = why(scope.trace, "0.weight")
    assert "no gradient since step 61: requires_grad was switched off" in answer.headline
    assert places(answer, main=True) == [line_of("# frozen by hand")]


def test_the_names_that_the_program_itself_uses():
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.last = Net(), nn.Linear(2, 1)

        def forward(self, x):
            return self.last(self.net(x))

    model = Deep()
    with gradscope.watch() as scope:
        model(torch.randn(3, 4)).mean().backward()
    for name in ("self.layer1.weight", "self.net.layer1", "self.layer1", "trainer.model.net.layer1.bias"):
        assert "cut off" in why(scope.trace, name).headline, name
    with pytest.raises(GradscopeError, match=r"`self.weight` is not one parameter: .*last.weight"):
        why(scope.trace, "self.weight")
    with pytest.raises(GradscopeError, match="no parameter, variable or place"):
        why(scope.trace, "critic.net.layer1.weight")


class Solver:
    def __init__(self) -> None:
        self.net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    @property
    def model(self):
        raise AssertionError("a property of the program's was asked")

    def fit(self) -> None:
        for _ in range(2):
            self.opt.zero_grad()
            self.net(torch.randn(4, 3)).pow(2).mean().backward()
            self.opt.step()


@dataclass(slots=True)
class Held:
    model: nn.Module
    step: int = 0


def test_models_that_objects_and_dicts_hold():
    with gradscope.watch() as scope:
        s = Solver()
        s.fit()
        models = {"G": nn.Sequential(nn.Linear(3, 3)), "D": nn.Sequential(nn.Linear(3, 1))}
        models["D"](models["G"](torch.randn(4, 3)).detach()).mean().backward()
        state = Held(nn.Sequential(nn.Linear(3, 1)))
        state.model(torch.randn(4, 3)).mean().backward()
    for written, asked in {
        "s.net.0.weight": ("s.net.0.weight", "self.net.0.weight", "net.0.weight", "s.net[0].weight", "s.net"),
        'models["G"].0.weight': (
            'models["G"].0.weight', "models['G'].0.weight", "models[G].0.weight", 'models["G"][0].weight', "G.0.weight"
        ),
        "state.model.0.weight": ("state.model.0.weight", "self.model.0.weight", "model.0.weight"),
    }.items():  # fmt: skip
        for name in asked:
            assert why(scope.trace, name).subject == written, name
    for parameter in scope.trace.parameters:
        printed = parameter_name(scope.trace, parameter.id)
        assert why(scope.trace, printed).parameter.id == parameter.id, printed


def test_an_object_that_only_its_own_methods_hold():
    with gradscope.watch() as scope:
        Solver().fit()
    for name in ("self.net.0.weight", "net.0.weight", "s.net.0.weight", "0.weight"):
        assert why(scope.trace, name).parameter.name == "0.weight", name


def test_a_layer_that_is_called_by_itself_belongs_to_the_model_that_an_object_holds():
    with gradscope.watch() as scope:
        s = Solver()
        s.net[2](s.net[0](torch.randn(4, 3))).mean().backward()
    assert why(scope.trace, "s.net.2.weight").parameter.name == "2.weight"


def test_a_model_that_trains_itself_goes_by_its_variable():
    class Own(Net):
        def fit(self) -> None:
            self(torch.randn(3, 4)).mean().backward()

    with gradscope.watch() as scope:
        first, second = Own(), Own()
        first.fit()
        second.fit()
    names = [why(scope.trace, name).subject for name in ("first.layer1.weight", "second.layer1.weight")]
    assert names == ["first.layer1.weight", "second.layer1.weight"]


def test_a_model_of_an_object_is_named_after_unnamed_ones_of_other_lines():
    with gradscope.watch() as scope:
        for _ in range(6):
            nn.Linear(3, 1)(torch.randn(4, 3)).mean().backward()  # made anew, held by nothing
        s = Solver()
        s.fit()
    assert why(scope.trace, "s.net.0.weight").subject == "s.net.0.weight"


def test_a_model_goes_by_its_names_in_the_functions_that_hand_it_on():
    def step(model, x):
        model(x).pow(2).mean().backward()

    class Fit:
        def run(self, model, steps):
            for _ in range(steps):
                step(x=torch.randn(8, 4), model=model)

    def evaluate(m):
        with torch.no_grad():
            return m(torch.randn(8, 4))

    teacher, student = nn.Sequential(nn.Linear(4, 2)), nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))
    with gradscope.watch() as scope:
        Fit().run(student, 3)
        evaluate(teacher)
        evaluate(student)
    for name in ("student[1].weight", "student.1.weight", "model.1.weight", "m.1.weight"):
        assert why(scope.trace, name).subject in ("1.weight", "model.1.weight"), name
    with pytest.raises(GradscopeError, match="no parameter"):
        why(scope.trace, "teacher.1.weight")


def test_a_parameter_is_read_where_it_is_used_and_not_where_it_was_made():
    with gradscope.watch() as scope:
        net = nn.Linear(3, 1)
        net(torch.randn(4, 3))
    (step,) = why(scope.trace, "net.weight").steps
    assert scope.trace.lines(step.site.path)[step.site.line - 1].strip() == "net(torch.randn(4, 3))"


def test_models_that_a_library_holds_too_go_by_their_variables():
    class Accelerator:
        def __init__(self, *models):
            self._models = list(models)

    body, head = nn.Linear(3, 2), nn.Linear(2, 1)
    accelerator = Accelerator(body, head)
    with gradscope.watch() as scope:
        head(body(torch.randn(4, 3))).mean().backward()
    assert [m.name for m in scope.trace.modules.values()] == ["body", "head"] and accelerator


def test_models_of_one_variable_go_by_the_list_or_dict_that_holds_them():
    nets = [nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)) for _ in range(3)]
    heads = {"left": nn.Linear(3, 1), "right": nn.Linear(3, 1)}
    with gradscope.watch() as scope:
        x = torch.randn(4, 3)
        for net in nets:
            net(x).mean().backward()
        with torch.no_grad():
            heads["left"](x)
        for head in heads.values():
            head(x)
        heads["right"](x).mean().backward()
    assert why(scope.trace, "nets[1].0.weight").subject == "nets[1].0.weight"
    assert why(scope.trace, 'heads["right"].weight').subject == 'heads["right"].weight'
    for several in ("net.0.weight", "0.weight"):
        with pytest.raises(
            GradscopeError, match=r"nets\[0\].0.weight, nets\[1\].0.weight or nets\[2\].0.weight"
        ):
            why(scope.trace, several)


AUGMENT = nn.Sequential(nn.Dropout(0.1), nn.Identity())


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.augment = AUGMENT
        self.net = nn.Sequential(nn.Linear(4, 2))

    def forward(self, x):
        return self.net(self.augment(x)).square().mean()


class Holder:
    def __init__(self):
        self.learner = Learner()

    def fit(self):
        self.learner.forward(torch.randn(8, 4)).backward()


def test_a_model_does_not_go_by_the_name_of_its_first_part():
    holder = Holder()
    with gradscope.watch() as scope:
        holder.fit()
    assert why(scope.trace, "holder.learner.net.0.weight").subject in (
        "net.0.weight",
        "holder.learner.net.0.weight",
    )
    assert all(not module.name.startswith("AUGMENT") for module in scope.trace.modules.values())


def test_of_several_by_one_name_it_says_which_one_it_is() -> None:
    with gradscope.watch() as scope:
        for _ in range(3):
            model = nn.Linear(2, 1)
            model(torch.ones(1, 2)).sum().backward()
    first = str(why(scope.trace, "model.weight"))
    assert (
        "3 parameters go by this name; this is the first of them, `model.weight #2` asks of another" in first
    )
    answers = [why(scope.trace, f"model.weight #{turn}") for turn in (1, 2, 3)]
    assert all(f"this is number {turn} of them" in str(answer) for turn, answer in enumerate(answers, 1))
    assert len({answer.parameter.id for answer in answers}) == 3
    assert why(scope.trace, "model.weight#3").parameter == answers[2].parameter
    with pytest.raises(GradscopeError, match=r"3 parameters of the name `model\.weight`"):
        why(scope.trace, "model.weight #4")
    with gradscope.watch() as scope:
        model = nn.Linear(2, 1)
        model(torch.ones(1, 2)).sum().backward()
    assert "go by this name" not in str(why(scope.trace, "model.weight"))


def test_what_a_report_names_beside_parameters_has_an_answer_too() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(8, 4)).sum().backward()
            opt.step()
            with torch.no_grad():
                net(torch.randn(8, 4)).argmax(dim=1)
    (finding,) = (f for f in scope.findings if f.code == "GS401")
    told = " ".join(finding.seen)
    for name, means in (("1.running_mean", "is a buffer"), ("2", "the result of `dropout`")):
        assert f"`{name}`" in told
        assert means in why(scope.trace, name).headline
    assert why(scope.trace, "net.2").steps[-1].site.line == why(scope.trace, "2").steps[-1].site.line


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.mean(x), self.spread(x)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(), nn.Linear(2, 4)

    def forward(self, x):
        mu, logvar = self.encoder(x)
        code = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(code), mu, logvar


def terms(made, x, middle, width):
    error = (made - x).pow(2).mean()
    spread = (middle.pow(2) + width.exp() - 1 - width).mean()
    return error, spread


@pytest.fixture(scope="module")
def handed_back():
    model = Autoencoder()
    with gradscope.watch() as scope:
        x = torch.randn(3, 4)
        made, middle, width = model(x)
        rebuilt, apart = terms(made, x, middle, width)
        (rebuilt + apart).backward()
    return scope.trace


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("mu", "encoder.mean.weight"), ("logvar", "encoder.spread.weight"), ("made", "decoder.weight"),
        ("middle", "encoder.mean.weight"), ("width", "encoder.spread.weight"), ("rebuilt", "decoder.weight"),
        ("apart", "encoder.spread.weight"),
    ],
)  # fmt: skip
def test_what_a_call_hands_back_goes_by_the_callers_variables(handed_back, name, parameter) -> None:
    answer = why(handed_back, name)
    assert answer.headline.startswith(f"`{name}` requires grad because `{parameter}` does")
    shape = {"rebuilt": "scalar", "apart": "scalar", "made": "3×4"}.get(name, "3×2")
    assert any(f"({shape} float32" in fact for fact in answer.seen)


@pytest.fixture(scope="module")
def held():
    @dataclass
    class Output:
        loss: torch.Tensor

    heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)})
    with gradscope.watch() as scope:
        batch = {"x": torch.randn(6, 4), "y": torch.zeros(6, dtype=torch.long)}
        terms = []
        for head in heads.values():
            scores = head(batch["x"])
            terms.append(nn.functional.cross_entropy(scores, batch["y"]))
        out = Output(torch.stack(terms).sum())
        out.loss.backward()
    return scope.trace


@pytest.mark.parametrize("name", ['batch["x"]', "batch['x']", "batch[x]", "out.loss", "batch['y']"])
def test_what_an_object_or_a_dict_holds_goes_by_how_the_program_writes_it(held, name) -> None:
    headline = why(held, name).headline
    assert headline.startswith(f"`{name}` ")
    assert ("does not require grad" in headline) == name.startswith("batch")


def test_of_a_list_the_tensor_without_a_graph_is_told_of() -> None:
    model = nn.Linear(4, 1)
    with gradscope.watch() as scope:
        losses = [model(torch.randn(6, 4)).pow(2).mean() for _ in range(3)]
        losses[1] = losses[1].detach()
        torch.stack(losses).sum().backward()
    assert why(scope.trace, "losses").headline.startswith("`losses[1]` does not require grad")
    assert why(scope.trace, "losses[-1]").headline.startswith("`losses[-1]` requires grad")
    assert (
        why(scope.trace, "losses").seen[0].startswith("`losses` held 3 tensors where `stack` joined it last")
    )
    with pytest.raises(GradscopeError, match="`losses` held 3 tensors"):
        why(scope.trace, "losses[3]")


def test_a_call_that_switches_gradients_off_inside_is_told_as_that_call() -> None:
    model, head = nn.Linear(2, 2), nn.Linear(2, 1)
    with gradscope.watch() as scope:
        source = torch.distributions.Normal(model(torch.ones(3, 2)), 1.0)
        drawn = source.sample()
        head(drawn).sum().backward()
    for name in ("drawn", "model.weight"):
        answer = why(scope.trace, name)
        told = " ".join([answer.headline, *(step.label for step in answer.steps)])
        assert "`source.sample()` switches gradients off inside" in told and "no_grad" not in told, told


def test_a_derivative_that_is_no_part_of_the_graph_says_what_was_left_out() -> None:
    model, x = nn.Linear(2, 1), torch.ones(3, 2, requires_grad=True)
    with gradscope.watch() as scope:
        slope = torch.autograd.grad(model(x).pow(2).sum(), x, retain_graph=True)[0]
        (model(x).sum() + slope.sum()).backward()
    assert why(scope.trace, "slope").headline == (
        "`slope` does not require grad: `grad` without `create_graph=True` records no graph"
    )


def test_a_view_that_is_made_without_gradients_is_no_parameter() -> None:
    model = nn.Linear(2, 2)
    with gradscope.watch() as scope:
        out = model(torch.randn(3, 2))
        with torch.no_grad():
            flat = out.view(-1)
            assert flat.requires_grad and flat.is_leaf  # so says torch
            assert out[0].mean() == flat[:2].mean()
        out.sum().backward()
    assert [p.name for p in scope.trace.parameters] == ["weight", "bias"]
    assert "view without a graph: `torch.no_grad()`" in why(scope.trace, "flat").headline


def test_what_left_for_numpy_behind_a_detach_is_told_as_in_the_report():
    a, b = nn.Linear(3, 3), nn.Linear(3, 1)
    step = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        b(torch.from_numpy(a(torch.ones(2, 3)).detach().numpy() * 2)).sum().backward()
        step.step()
    (finding,) = [f for f in scope.findings if f.code == "GS301"]
    answer = why(scope.trace, "a.weight")
    assert "`numpy()` cuts the graph" in finding.message
    assert any("the value leaves torch for numpy, behind `detach`" in s.label for s in answer.steps)
